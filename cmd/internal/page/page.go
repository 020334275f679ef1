package page

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/health"
)

//go:embed assets
var assets embed.FS

// Options configure a [Page].
type Options struct {
	Pipeline string           // name of the pipeline
	Flags    string           // flags of the commands that the page suggests, such as -c FILE --live
	Every    time.Duration    // interval of updates. Default: 2s
	Now      func() time.Time // returns the time that ages are relative to. Default: time.Now

	// Source returns the present status. The page calls Source at most once a second, or once in Every if Every is
	// shorter. [Page.StatusOf] also calls Source, so calls can be concurrent. Source may block for a second, for
	// example if a consumer hangs.
	Source func() Status
}

// Page is the HTTP handler of the status page. It does not check the Host of requests. Its server must do so.
type Page struct {
	o    Options
	mux  *http.ServeMux
	done chan struct{} // closed by Close

	rendering sync.Mutex // held during Source. It is not mu, so that Close and viewers do not wait for Source
	parts     []part
	rendered  time.Time // when parts were rendered

	mu      sync.Mutex
	closed  bool
	viewers int
	viewing sync.WaitGroup // all viewers; Close waits for it
}

// part is a rendered part of the page. Browsers replace a part as a whole.
type part struct {
	Name string
	HTML template.HTML
}

// partNames are the names of the parts in the order of the page. Each part has a template of this name.
var partNames = []string{"verdict", "totals", "problems", "sinks", "shards", "letters", "gaps", "fills", "consumers",
	"ledgers", "foot"}

// New returns a Page. The caller closes it with Close.
func New(o Options) *Page {
	o.Every = cmp.Or(o.Every, 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Page{o: o, mux: http.NewServeMux(), done: make(chan struct{})}
	p.mux.HandleFunc("GET /{$}", p.servePage)
	p.mux.HandleFunc("GET /events", p.serveEvents)
	for path, kind := range map[string]string{"page.css": "text/css; charset=utf-8",
		"page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		p.mux.HandleFunc("GET /"+path, serveAsset(path, kind))
	}
	return p
}

// securityPolicy is the Content-Security-Policy of the page. It allows only the page's own files.
const securityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers / and the files of the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", securityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	p.mux.ServeHTTP(w, r)
}

// serveAsset answers with an embedded file.
func serveAsset(path, kind string) http.HandlerFunc {
	b, err := assets.ReadFile("assets/" + path)
	if err != nil {
		panic(err) // a file is missing in the program
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(b) // it fails only if the client is gone
	}
}

// servePage answers /. With the query ?paused, a browser without JavaScript does not reload the page.
func (p *Page) servePage(w http.ResponseWriter, r *http.Request) {
	parts, err := p.render()
	var out bytes.Buffer
	if err == nil {
		err = templates.ExecuteTemplate(&out, "page", struct {
			Pipeline string
			Reload   bool
			Parts    []part
		}{p.o.Pipeline, !r.URL.Query().Has("paused"), parts})
	}
	if err != nil {
		http.Error(w, "the page cannot be rendered, which is a bug: /status has the same as JSON",
			http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // it fails only if the client is gone
}

// render returns the parts of the page. It renders at most once a second, or once in Every if Every is shorter, and
// otherwise returns the last parts.
func (p *Page) render() ([]part, error) {
	p.rendering.Lock()
	defer p.rendering.Unlock()
	if p.parts != nil && time.Since(p.rendered) < min(time.Second, p.o.Every) {
		return p.parts, nil
	}
	v := newView(p.o, p.o.Source(), p.o.Now())
	parts := make([]part, len(partNames))
	for i, name := range partNames {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, name, v); err != nil {
			return nil, err
		}
		parts[i] = part{name, template.HTML(out.String())} // safe: html/template has escaped it
	}
	p.parts, p.rendered = parts, time.Now()
	return parts, nil
}

// StatusOf returns the status of Source, with v as its verdict.
func (p *Page) StatusOf(v health.Verdict) any {
	s := p.o.Source()
	s.Verdict = &v
	return s
}

// Close ends the streams of all viewers, and waits until they have ended. Later requests for a stream are refused.
func (p *Page) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.mu.Unlock()
	p.viewing.Wait()
}
