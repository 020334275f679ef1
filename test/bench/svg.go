package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 860
	barLeft    = 300
	barRight   = 770 // right end of the longest bar
	barHeight  = 14
	rowHeight  = 34
)

// bar is a row of the chart. Its value says how many times better than the peer ours is, so that more is better.
type bar struct {
	name, peer string
	value      float64 // the ratio, or its reciprocal for rows where less is better
	budget     float64 // the budget, on the same axis
	label      string
}

// nouns say what the ratio compares, for rows where less is better.
var nouns = map[string]string{cost.unit: "the time", memory.unit: "the memory"}

// bars returns the rows that have a budget.
func (r *report) bars() []bar {
	var out []bar
	for _, row := range r.Rows {
		b := bar{name: row.name(), peer: row.Against, value: row.Ratio, budget: row.Least, label: ratio(row.Ratio) + " x"}
		switch {
		case row.Most > 0:
			b.value, b.budget = 1/row.Ratio, 1/row.Most
			b.label = ratio(row.Ratio) + " x " + nouns[row.Unit]
		case row.Least == 0:
			continue
		}
		out = append(out, b)
	}
	return out
}

// svg draws the bars on a logarithmic axis, with a mark at each budget. Its colours follow the reader's choice of a
// light or a dark page.
func (r *report) svg() []byte {
	all := r.bars()
	low, high := 0.1, 1.0
	for _, b := range all {
		low, high = min(low, b.value, b.budget), max(high, b.value, b.budget)
	}
	left, right := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	x := func(v float64) float64 {
		return barLeft + (math.Log10(v)-left)/(right-left)*(barRight-barLeft)
	}
	top := 64
	height := top + len(all)*rowHeight + 56
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Ours beside the peers">
<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.small { font-size: 11px; fill: #59636e }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.one { stroke: #818b98; stroke-width: 1 }
.bar { fill: #1f7a8c }
.missed { fill: #bf5b04 }
.budget { stroke: #1f2328; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.grid { stroke: #3d444d }
.one { stroke: #9198a1 }
.bar { fill: #4fb3c7 }
.missed { fill: #f0883e }
.budget { stroke: #f0f6fc }
}
</style>
`, chartWidth, height, chartWidth, height)
	fmt.Fprintf(&b, "<text class=\"title\" x=\"12\" y=\"24\">How many times as good as the peer (logarithmic; the mark is the budget, orange is short of it)</text>\n")
	bottom := top + len(all)*rowHeight
	for e := left; e <= right; e++ {
		v := math.Pow(10, e)
		class := "grid"
		if v == 1 {
			class = "one"
		}
		fmt.Fprintf(&b, "<line class=%q x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s x</text>\n", class, x(v), top-8, x(v), bottom, x(v), top-14, few(v))
	}
	for i, bar := range all {
		y := top + i*rowHeight
		class := "bar"
		if bar.value < bar.budget {
			class = "missed"
		}
		from, to := min(x(1), x(bar.value)), max(x(1), x(bar.value))
		fmt.Fprintf(&b, "<text x=\"12\" y=\"%d\">%s</text><text class=\"small\" x=\"12\" y=\"%d\">%s</text>\n", y+11, html.EscapeString(bar.name), y+24, html.EscapeString(shorten(bar.peer, 48)))
		fmt.Fprintf(&b, "<rect class=%q x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>", class, from, y+3, max(to-from, 1.5), barHeight)
		fmt.Fprintf(&b, "<line class=\"budget\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x(bar.budget), y, x(bar.budget), y+barHeight+6)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", max(to, x(bar.budget))+8, y+15, html.EscapeString(bar.label))
	}
	fmt.Fprintf(&b, "<text class=\"small\" x=\"12\" y=\"%d\">%s</text>\n", height-16, html.EscapeString(r.caption()+": test/bench/results.json"))
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// shorten cuts a text between words.
func shorten(s string, most int) string {
	if len([]rune(s)) <= most {
		return s
	}
	cut := string([]rune(s)[:most])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, ",;:(") + " …"
}
