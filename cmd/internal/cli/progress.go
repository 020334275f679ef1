package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows how far long work has come: a bar on a terminal, a line every few
// seconds elsewhere.
type Progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil where w is no terminal
	every time.Duration
	last  time.Time
}

// NewProgress starts one. total is in bytes; 0 or less where it is not known.
func NewProgress(w io.Writer, what string, total int64) *Progress {
	return startProgress(w, what, total, progressbar.OptionShowBytes(true))
}

// NewCount starts one of things, how many is not known yet.
func NewCount(w io.Writer, what string) *Progress {
	return startProgress(w, what, 0, progressbar.OptionShowCount())
}

func startProgress(w io.Writer, what string, total int64, unit progressbar.Option) *Progress {
	p := &Progress{w: w, every: 5 * time.Second, last: time.Now()}
	if to := standardError(w); to != nil && to.flags.format != FormatJSON {
		w = to.w
	}
	if shown, ok := w.(*printable); ok {
		w = shown.w // the bar itself is made of what a terminal obeys
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(what),
			unit,
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
		_ = p.bar.RenderBlank() // its clock starts now
	}
	return p
}

// Write prints lines for people: the bar makes way for them, and comes back.
func (p *Progress) Write(lines []byte) (int, error) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	return p.w.Write(lines)
}

// Of tells that done things of total are behind us, as far as is known now.
func (p *Progress) Of(done, total int64) {
	if p.bar != nil && total > 0 {
		p.bar.ChangeMax64(total)
	}
	p.At(done, total, done)
}

// At tells that done bytes of total are behind us, and records of them.
func (p *Progress) At(done, total, records int64) {
	if p.bar != nil {
		_ = p.bar.Set64(done)
		return
	}
	now := time.Now()
	if now.Sub(p.last) < p.every {
		return
	}
	p.last = now
	if total > 0 {
		fmt.Fprintf(p.w, "%3d%% %s records\n", done*100/total, Thousands(records))
	} else {
		fmt.Fprintf(p.w, "%s records\n", Thousands(records))
	}
}

// End takes the bar away.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
