"""The world of `fix --like`: small models with a size in them, exported at several."""
