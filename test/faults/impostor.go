package faults

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/iotest"
)

// Answer is a wrong answer that a broken proxy, gateway or load balancer gives instead of the server.
type Answer struct {
	Name   string
	Status int
	Type   string // Content-Type
	Body   string
	Done   bool // the server handles the request, because a successful status without content may be its own answer
	Cut    bool // half of the server's own answer arrives
}

const page = "<html><body><h1>hello</h1></body></html>"

// Answers returns the answers that no client may trust. A successful status without content can be the answer of the
// server itself, so such a request is forwarded to the server.
func Answers() []Answer {
	all := []Answer{
		{Name: "200, empty", Status: 200},
		{Name: "200, {}", Status: 200, Type: "application/x-amz-json-1.0", Body: "{}", Done: true},
		{Name: "200, a page", Status: 200, Type: "text/html", Body: page},
		{Name: "204", Status: 204},
		{Name: "cut", Cut: true},
	}
	for _, status := range []int{400, 403, 404, 412, 500, 502, 503} {
		s := strconv.Itoa(status)
		all = append(all, Answer{Name: s + ", empty", Status: status}, Answer{Name: s + ", a page", Status: status, Type: "text/html", Body: page})
	}
	return append(all, Answer{Name: "400, {}", Status: 400, Type: "application/json", Body: "{}"})
}

// Do answers a request. Answer can thereby replace [http.Client] in a client of JSON.
func (a Answer) Do(r *http.Request) (*http.Response, error) {
	body, status := io.Reader(strings.NewReader(a.Body)), a.Status
	if a.Cut {
		body, status = io.MultiReader(strings.NewReader(`{"Att`), iotest.ErrReader(io.ErrUnexpectedEOF)), http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {a.Type}}, Body: io.NopCloser(body), ContentLength: -1, Request: r}, nil
}

// Impostor is a proxy in front of a server. It answers some requests itself, wrongly.
type Impostor struct {
	server *httptest.Server
	fault  atomic.Pointer[Answer]
	share  float64
	given  atomic.Int64
}

// Impersonate starts an impostor in front of the server at endpoint. While an answer is set by Give, it answers this
// share of the requests itself. It stops at the end of the test.
func Impersonate(t TB, endpoint string, share float64) *Impostor {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	i := &Impostor{share: share}
	// The header Host is unchanged, because the signature of the client includes it.
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := i.fault.Load()
		if a == nil || rand.Float64() >= i.share {
			forward.ServeHTTP(w, r)
			return
		}
		i.given.Add(1)
		if !a.Done && !a.Cut {
			_, _ = io.Copy(io.Discard, r.Body) // the body is read and ignored
			i.answer(w, a)
			return
		}
		real := httptest.NewRecorder()
		forward.ServeHTTP(real, r)
		if a.Cut {
			cut(w, real)
			return
		}
		i.answer(w, a)
	}))
	t.Cleanup(func() {
		i.server.Close()
		transport.CloseIdleConnections()
	})
	return i
}

// Endpoint returns the URL of the impostor, which replaces the URL of the server in a client.
func (i *Impostor) Endpoint() string { return i.server.URL }

// Give sets the wrong answer. nil ends the impersonation.
func (i *Impostor) Give(a *Answer) { i.fault.Store(a) }

// Given returns how many requests got a wrong answer.
func (i *Impostor) Given() int64 { return i.given.Load() }

func (i *Impostor) answer(w http.ResponseWriter, a *Answer) {
	if a.Type != "" {
		w.Header().Set("Content-Type", a.Type)
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}

// cut sends half of an answer and closes the connection.
func cut(w http.ResponseWriter, real *httptest.ResponseRecorder) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return
	}
	defer closeConn(conn)
	var b bytes.Buffer
	body := real.Body.Bytes()
	real.Header().Set("Content-Length", strconv.Itoa(max(len(body), 1)))
	_, _ = b.WriteString("HTTP/1.1 " + strconv.Itoa(real.Code) + " " + http.StatusText(real.Code) + "\r\n")
	_ = real.Header().Write(&b)
	_, _ = b.WriteString("\r\n")
	_, _ = b.Write(body[:len(body)/2])
	_, _ = conn.Write(b.Bytes())
}

func closeConn(c net.Conn) { _ = c.Close() }
