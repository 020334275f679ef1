package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows the progress of a long command: a bar on a terminal, otherwise a line every five seconds.
type Progress struct {
	w        io.Writer
	bar      *progressbar.ProgressBar // nil if w is not a terminal
	interval time.Duration            // between two lines
	begun    time.Time
	last     time.Time // of the last line
}

// NewProgress starts a progress of bytes. Call [Progress.UpdateBytes] on it. A total of 0 or less is unknown.
func NewProgress(w io.Writer, description string, total int64) *Progress {
	return startProgress(w, description, total, progressbar.OptionShowBytes(true))
}

// NewCountProgress starts a progress of items whose total is unknown yet. Call [Progress.Update] on it.
func NewCountProgress(w io.Writer, description string) *Progress {
	return startProgress(w, description, 0, progressbar.OptionShowCount())
}

func startProgress(w io.Writer, description string, total int64, unit progressbar.Option) *Progress {
	p := &Progress{w: w, interval: 5 * time.Second, begun: time.Now(), last: time.Now()}
	if to := findLogWriter(w); to != nil && to.flags.format != FormatJSON {
		w = to.w
	}
	if shown, ok := w.(*printableWriter); ok {
		w = shown.w // the bar needs the control characters that printableWriter escapes
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(description),
			unit,
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
		_ = p.bar.RenderBlank() // starts the clock of the bar
	}
	return p
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
	if p.bar != nil && total > 0 {
		p.bar.ChangeMax64(total)
	}
	p.UpdateBytes(done, total, done)
}

// UpdateBytes shows that done of total bytes are finished, and the number of records in them.
func (p *Progress) UpdateBytes(done, total, records int64) {
	if p.bar != nil {
		_ = p.bar.Set64(done)
		return
	}
	now := time.Now()
	if now.Sub(p.last) < p.interval {
		return
	}
	p.last = now
	fmt.Fprintln(p.w, progressLine(done, total, records, now.Sub(p.begun)))
}

// progressLine says how much is done, how fast it was, and how long the rest takes at that rate. A total that is less than
// what is done was an estimate.
func progressLine(done, total, records int64, took time.Duration) string {
	line := fmt.Sprintf("%s records, %s a second", Thousands(records), Thousands(int64(float64(records)/max(took.Seconds(), 0.001))))
	if total <= 0 || done <= 0 || done > total {
		return line
	}
	left := time.Duration(float64(took) * float64(total-done) / float64(done))
	return fmt.Sprintf("%3d%% %s, %s left", done*100/total, line, left.Round(time.Second))
}

// End removes the bar.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
