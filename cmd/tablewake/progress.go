package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far long work has come: a bar on a terminal, a line every few
// seconds elsewhere.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil where w is no terminal
	every time.Duration
	last  time.Time
}

// newProgress starts one. total is in bytes; 0 or less where it is not known.
func newProgress(w io.Writer, what string, total int64) *progress {
	return startProgress(w, what, total, progressbar.OptionShowBytes(true))
}

// newCount starts one of things, how many is not known yet.
func newCount(w io.Writer, what string) *progress {
	return startProgress(w, what, 0, progressbar.OptionShowCount())
}

func startProgress(w io.Writer, what string, total int64, unit progressbar.Option) *progress {
	p := &progress{w: w, every: 5 * time.Second, last: time.Now()}
	if to := standardError(w); to != nil && to.flags.format != formatJSON {
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
func (p *progress) Write(lines []byte) (int, error) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	return p.w.Write(lines)
}

// of tells that done things of total are behind us, as far as is known now.
func (p *progress) of(done, total int64) {
	if p.bar != nil && total > 0 {
		p.bar.ChangeMax64(total)
	}
	p.at(done, total, done)
}

// at tells that done bytes of total are behind us, and records of them.
func (p *progress) at(done, total, records int64) {
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
		fmt.Fprintf(p.w, "%3d%% %s records\n", done*100/total, thousands(records))
	} else {
		fmt.Fprintf(p.w, "%s records\n", thousands(records))
	}
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
