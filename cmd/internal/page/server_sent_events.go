package page

import (
	"html/template"
	"net/http"
	"strings"
	"time"
)

const (
	maxViewers  = 32               // maximum number of concurrent viewers; each has a stream
	eventWrite  = 10 * time.Second // timeout of a write to a viewer; a viewer that accepts no bytes for so long is gone
	aliveEvery  = 15 * time.Second // interval of bytes in a stream without events, so that proxies keep it open
	largePart   = 64 << 10         // parts of more bytes are sent less often
	largeEvery  = 15 * time.Second
	streamRetry = "retry: 3000\n\n" // milliseconds after which a browser connects again
)

// enter counts a new viewer. It returns false if there are too many viewers, or if the page is closed. Otherwise the
// viewer must call leave at its end.
func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.viewers >= maxViewers {
		return false
	}
	p.viewers++
	p.viewing.Add(1)
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	p.viewers--
	p.mu.Unlock()
	p.viewing.Done()
}

// serveEvents streams the parts that changed, until the viewer leaves or the page is closed.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many viewers are connected, or the process stops", http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	control := http.NewResponseController(w)
	// The timeouts of the server are for short answers, so they do not apply to a stream. Each write of a stream has
	// its own timeout, and no more bytes are read.
	_ = control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	stream := viewer{w: w, control: control, sent: make(map[string]sentPart), text: []byte(streamRetry)}
	tick := time.NewTicker(p.o.Every)
	defer tick.Stop()
	for {
		parts, err := p.render()
		if err != nil {
			return
		}
		if err := stream.update(parts, time.Now()); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-p.done:
			return
		}
	}
}

// viewer is the stream to one browser.
type viewer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    map[string]sentPart
	text    []byte // bytes that are not written yet
	wrote   time.Time
}

// sentPart is the version of a part that the browser has, with the time when it was sent.
type sentPart struct {
	html template.HTML
	at   time.Time
}

// update sends the parts that changed. If nothing was sent for aliveEvery, it sends an event-stream comment, which
// browsers ignore.
func (v *viewer) update(parts []part, now time.Time) error {
	for _, p := range parts {
		v.addChanged(p, now)
	}
	if len(v.text) == 0 && now.Sub(v.wrote) >= aliveEvery {
		v.text = append(v.text, ": alive\n\n"...)
	}
	if len(v.text) == 0 {
		return nil
	}
	if err := v.control.SetWriteDeadline(now.Add(eventWrite)); err != nil {
		return err
	}
	_, err := v.w.Write(v.text)
	if err == nil {
		err = v.control.Flush()
	}
	v.text, v.wrote = v.text[:0], now
	return err
}

// addChanged adds a part to the bytes to write, unless it is unchanged, or large and too early.
func (v *viewer) addChanged(p part, now time.Time) {
	last, wasSent := v.sent[p.Name]
	isUnchanged := last.html == p.HTML
	isTooEarly := len(p.HTML) > largePart && now.Sub(last.at) < largeEvery
	if wasSent && (isUnchanged || isTooEarly) {
		return
	}
	v.sent[p.Name] = sentPart{p.HTML, now}
	v.text = appendEvent(v.text, p)
}

// lineEnds replaces \r\n and \r by \n, because all three end a line of an event.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// appendEvent appends a part as a server-sent event. The first line of the event is the part's name, and the other
// lines are its HTML.
func appendEvent(out []byte, p part) []byte {
	out = append(out, "event: part\ndata: "...)
	out = append(out, p.Name...)
	for line := range strings.SplitSeq(strings.TrimSpace(lineEnds.Replace(string(p.HTML))), "\n") {
		out = append(out, "\ndata: "...)
		out = append(out, line...)
	}
	return append(out, "\n\n"...)
}
