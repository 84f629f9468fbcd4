"""The one style sheet of a page: light and dark, on paper, and on a narrow screen."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b636d;--faint:#dde1e6;--ground:#fff;--raised:#f6f7f9;
--accent:#2b5fc7;--bad:#b3261e;--bad-ground:#fdf1f0;--good:#17713d;--good-ground:#eef8f1;
--mono:ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;
--prose:system-ui,-apple-system,"Segoe UI","Noto Sans","DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a2a9b2;--faint:#363c44;--ground:#15181c;
--raised:#1d2126;--accent:#86acff;--bad:#ff8f86;--bad-ground:#3a1f1e;--good:#74d69a;--good-ground:#173325}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.6 var(--prose)}
main,header,footer{max-width:62rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3.5rem}
h1,h2,h3{line-height:1.25;font-weight:600;overflow-wrap:anywhere}
h1{font-size:1.75rem;margin:.2rem 0 .6rem}
h2{font-size:1.25rem;margin:3.5rem 0 1rem;padding-top:1.25rem;border-top:1px solid var(--faint)}
h3{font-size:1rem;margin:0 0 .5rem}
p{margin:.5rem 0;max-width:46rem;overflow-wrap:anywhere;text-wrap:pretty}
.kicker{margin:0;color:var(--soft);font-size:.875rem}
.lead{font-size:1.0625rem}
.soft{color:var(--soft)}
.bad{color:var(--bad)}.good{color:var(--good)}.accent{color:var(--accent)}
code,pre,.mono{font-family:var(--mono);font-size:.875em}
code{overflow-wrap:anywhere}
pre{margin:.75rem 0;padding:.75rem 1rem;background:var(--raised);border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere;line-height:1.5}
a{color:var(--accent)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;list-style:none;margin:1.25rem 0 0;padding:0;font-size:.9375rem}
table{border-collapse:collapse;width:100%;margin:.75rem 0;font-size:.875rem;line-height:1.45}
caption{text-align:left;color:var(--soft);padding:0 0 .5rem}
th,td{text-align:left;vertical-align:top;padding:.4rem 1.25rem .4rem 0;border-bottom:1px solid var(--faint);
font-weight:400;overflow-wrap:anywhere}
thead th{color:var(--soft);font-size:.8125rem;white-space:nowrap}
td,tbody th{min-width:4.5rem}
td code,th code{font-size:.8125rem}
.facts th{width:16rem;color:var(--soft)}
.pair th{width:40%}
.found th{width:26%}.found td:nth-child(2){white-space:nowrap}
.unconditional tr>:nth-child(5){display:none}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.35rem 1.5rem;margin:1rem 0;font-size:.9375rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.case{margin:0 0 2.75rem;padding:0}
.case .code{color:var(--soft);font-weight:400;margin-left:.5rem}
.diff{margin:.6rem 0;font-family:var(--mono);font-size:.8125rem;line-height:1.6;overflow-wrap:anywhere}
.diff del,.diff ins{display:block;text-decoration:none;padding:.1rem .6rem;border-left:3px solid}
.diff del{color:var(--bad);background:var(--bad-ground);border-color:var(--bad)}
.diff ins{color:var(--good);background:var(--good-ground);border-color:var(--good)}
.way{display:flex;flex-wrap:wrap;gap:.1rem .5rem;list-style:none;margin:.5rem 0;padding:0;font-size:.875rem}
.way li{overflow-wrap:anywhere}
.way li+li::before{content:"\\2192";color:var(--soft);margin-right:.5rem}
figure{margin:1rem 0 0;padding:1rem;background:var(--raised);border-radius:8px}
figure svg{display:block;max-width:100%;height:auto;margin:0 auto}
figcaption{margin-top:.75rem;color:var(--soft);font-size:.8125rem;text-align:center}
svg text{font-family:var(--mono);text-anchor:middle;fill:var(--ink)}
svg .op,svg .held{font-size:13px}svg .op{font-weight:600}
svg .name{font-size:11px;fill:var(--soft)}
svg .dims{font-size:11px;fill:var(--soft)}
svg .free{fill:var(--accent);font-weight:700}
svg .box rect{fill:var(--ground);stroke:var(--soft);stroke-width:1}
svg .anchor rect{stroke:var(--accent);stroke-width:2}
svg .input rect,svg .output rect{fill:var(--raised)}
svg .goes rect{fill:var(--bad-ground);stroke:var(--bad);stroke-dasharray:4 3}
svg .comes rect{fill:var(--good-ground);stroke:var(--good);stroke-width:1.5}
svg .goes text,svg text.goes{fill:var(--bad)}
svg .comes text,svg text.comes{fill:var(--good)}
svg .wire,svg .stub{fill:none;stroke:var(--soft);stroke-width:1.2}
svg .stub{stroke-dasharray:2 3}
svg .tip{fill:var(--soft)}
svg .wire.goes{stroke:var(--bad);stroke-dasharray:4 3}svg .tip.goes{fill:var(--bad)}
svg .wire.comes{stroke:var(--good)}svg .tip.comes{fill:var(--good)}
footer{margin-top:4rem;padding-bottom:3rem;color:var(--soft);font-size:.875rem}
footer p{padding-top:1.25rem;border-top:1px solid var(--faint);max-width:none}
@media screen and (max-width:44rem){body{font-size:15px}main,header,footer{padding-left:1rem;padding-right:1rem}
header{padding-top:2rem}figure{padding:.75rem .25rem;margin-left:-.25rem;margin-right:-.25rem}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.6rem}
.facts th{width:auto}
.rows thead{display:none}.rows,.rows tbody,.rows tr,.rows th,.rows td,.rows caption{display:block}
.rows tr{padding:.75rem 0;border-bottom:1px solid var(--faint)}
.rows th,.rows td{border:0;padding:.1rem 0 .1rem 6.5rem;position:relative;min-height:1.4em}
.rows td:empty{display:none}.found td:nth-child(2){white-space:normal}.found th{width:auto}
.rows th::before,.rows td::before{position:absolute;left:0;color:var(--soft)}
.reshapes th::before{content:"node"}.reshapes td:nth-child(2)::before{content:"data"}
.reshapes td:nth-child(3)::before{content:"target"}.reshapes td:nth-child(4)::before{content:"output"}
.reshapes td:nth-child(5)::before{content:"if"}.reshapes td:nth-child(6)::before{content:"target from"}
.outputs th::before{content:"output"}.outputs td:nth-child(2)::before{content:"axis of N"}
.outputs td:nth-child(3)::before{content:"compared"}.outputs td:nth-child(4)::before{content:"difference"}
.outputs td:nth-child(5)::before{content:"magnitude"}
.found th::before{content:"node"}.found td:nth-child(2)::before{content:"code"}
.found td:nth-child(3)::before{content:"says"}}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--faint:#bbb;--ground:#fff;--raised:#fff;
--accent:#1a4aa8;--bad:#a11;--bad-ground:#fff;--good:#161;--good-ground:#fff}
body{font-size:10pt}main,header,footer{max-width:none;padding-left:0;padding-right:0}header{padding-top:0}
nav{display:none}h2{margin-top:1.5rem}h2,h3,caption{break-after:avoid}
.case,figure,tr,.diff,pre{break-inside:avoid}figure{border:1px solid var(--faint)}
figure svg{max-height:17cm;width:auto}table,dl{font-size:9pt}td code,th code,thead th,.diff,.way{font-size:8pt}
@page{margin:1.8cm}}
"""
