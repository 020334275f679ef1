package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows the progress of a long command: a bar on a terminal, otherwise a line every five seconds.
type Progress struct {
	w           io.Writer
	description string
	bar         *progressbar.ProgressBar // nil if w is not a terminal
	interval    time.Duration            // between two lines
	begun       time.Time
	last        time.Time // time of the last line
}

// NewProgress starts a progress of bytes. Call [Progress.UpdateBytes] on it. A total of 0 or less means that the total
// is unknown.
func NewProgress(w io.Writer, description string, total int64) *Progress {
	return startProgress(w, description, total, progressbar.OptionShowBytes(true))
}

// NewCountProgress starts a progress of items whose total is unknown yet. Call [Progress.Update] on it.
func NewCountProgress(w io.Writer, description string) *Progress {
	return startProgress(w, description, 0, progressbar.OptionShowCount())
}

// NewItemProgress starts a progress of items that several processes may share. Call [Progress.UpdateItems] on it.
func NewItemProgress(w io.Writer, description string, total int64) *Progress {
	return startProgress(w, description, total, itemBarOptions...)
}

// itemBarOptions are the options of a bar of items. The bar shows the rate of [ItemProgress]. Its own rate would
// include the items that were finished before this process began.
var itemBarOptions = []progressbar.Option{
	progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
}

func startProgress(w io.Writer, description string, total int64, shown ...progressbar.Option) *Progress {
	p := &Progress{w: w, description: description, interval: 5 * time.Second, begun: time.Now(), last: time.Now()}
	if f := findTerminal(w); f != nil {
		p.bar = newBar(f, description, total, shown...)
	}
	return p
}

// newBar returns a bar on a terminal.
func newBar(w io.Writer, description string, total int64, shown ...progressbar.Option) *progressbar.ProgressBar {
	if total <= 0 {
		total = -1
	}
	bar := progressbar.NewOptions64(total, append(slices.Clone(shown),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(description),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)...)
	_ = bar.RenderBlank() // starts the clock of the bar
	return bar
}

// Write prints lines above the bar.
func (p *Progress) Write(lines []byte) (int, error) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	return p.w.Write(lines)
}

// Update shows that done of total items are finished. total may grow later.
func (p *Progress) Update(done, total int64) {
	p.UpdateBytes(done, total, done)
}

// UpdateBytes shows that done of total bytes are finished, and the number of records in them. total may grow later.
func (p *Progress) UpdateBytes(done, total, records int64) {
	if p.bar != nil {
		if total > 0 {
			p.bar.ChangeMax64(total)
		}
		_ = p.bar.Set64(done)
		return
	}
	p.printLine(func(elapsed time.Duration) string { return progressLine(done, total, records, elapsed) })
}

// printLine prints a line, unless the last one is too new.
func (p *Progress) printLine(text func(elapsed time.Duration) string) {
	now := time.Now()
	if now.Sub(p.last) < p.interval {
		return
	}
	p.last = now
	fmt.Fprintln(p.w, text(now.Sub(p.begun)))
}

// ItemProgress is the progress of processes that share the items of a source.
type ItemProgress struct {
	Items, TotalItems int64 // items finished by all processes, and items of the source; a total of 0 or less is unknown
	Bytes, TotalBytes int64 // sizes of the items

	// EarlierItems and EarlierBytes were finished before this process began.
	EarlierItems, EarlierBytes int64

	OwnItems int64 // items that this process finished
}

// UpdateItems shows the progress of all processes, and the rate of this process.
func (p *Progress) UpdateItems(i ItemProgress) {
	if p.bar == nil {
		p.printLine(i.line)
		return
	}
	a := i.amounts()
	if a.total > 0 {
		p.bar.ChangeMax64(max(a.total, a.done+1)) // the total is an estimate, and a full bar would be final
	}
	p.bar.Describe(p.description + ": " + Thousands(i.Items) + " items, " + i.rate(time.Since(p.begun)))
	_ = p.bar.Set64(a.done)
}

// line returns the number of finished items, and the rate.
func (i ItemProgress) line(elapsed time.Duration) string {
	items := Thousands(i.Items) + " items"
	if i.countsItems() {
		items = Thousands(i.Items) + " of " + Thousands(i.TotalItems) + " items"
	}
	line := items + ", " + i.rate(elapsed)
	if a := i.amounts(); a.isTotalReliable() && a.done > 0 {
		line = fmt.Sprintf("%3d%% %s", a.done*100/a.total, line)
	}
	return line
}

// rate returns the number of items that this process finished per second, and the time that all processes need for the
// remaining items.
func (i ItemProgress) rate(elapsed time.Duration) string {
	rate := perSecond(i.OwnItems, elapsed) + " a second"
	if a := i.amounts(); a.isTotalReliable() && a.done > a.earlier {
		rate += ", " + timeLeft(a.done-a.earlier, a.total-a.done, elapsed) + " left"
	}
	return rate
}

// countsItems reports whether the progress can be measured in items.
func (i ItemProgress) countsItems() bool { return i.TotalItems > 0 && i.TotalItems >= i.Items }

// amounts are amounts of items, or of bytes.
type amounts struct {
	done    int64
	earlier int64 // the part of done that was finished before this process began
	total   int64 // an estimate; 0 or less if it is unknown
}

func (i ItemProgress) amounts() amounts {
	if i.countsItems() {
		return amounts{i.Items, i.EarlierItems, i.TotalItems}
	}
	return amounts{i.Bytes, i.EarlierBytes, i.TotalBytes}
}

// isTotalReliable reports whether the total is known and was not exceeded.
func (a amounts) isTotalReliable() bool { return a.total > 0 && a.done <= a.total }

func perSecond(n int64, elapsed time.Duration) string {
	return Thousands(int64(float64(n) / max(elapsed.Seconds(), 0.001)))
}

// timeLeft returns the time for the rest at the rate so far.
func timeLeft(done, rest int64, elapsed time.Duration) string {
	return time.Duration(float64(elapsed) * float64(rest) / float64(done)).Round(time.Second).String()
}

// progressLine returns the finished amount, the rate, and the time for the rest at that rate. If total is below done,
// it was an estimate, and the line has only the rate.
func progressLine(done, total, records int64, elapsed time.Duration) string {
	line := Thousands(records) + " records, " + perSecond(records, elapsed) + " a second"
	hasEstimate := done > 0 && done <= total
	if !hasEstimate {
		return line
	}
	return fmt.Sprintf("%3d%% %s, %s left", done*100/total, line, timeLeft(done, total-done, elapsed))
}

// End removes the bar.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
