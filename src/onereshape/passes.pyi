from onereshape.repair.passes import FreeBatch as FreeBatch, Simplify as Simplify
