package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// The log names a failure of the network in plain words, not by the type of the error.
func TestLogText_OfTheNetwork(t *testing.T) {
	get := func(url string, c *http.Client) error {
		resp, err := c.Get(url + "/orders/_doc/secret")
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			c.Close()
		}
	}))
	defer cut.Close()
	none := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "search.example", IsNotFound: true}}
	}}}
	others := secure.Client().Transport.(*http.Transport).Clone()
	others.TLSClientConfig = &tls.Config{RootCAs: others.TLSClientConfig.RootCAs, ServerName: "search.example.org", MinVersion: tls.VersionTLS12}
	for want, err := range map[string]error{
		"refused: dial tcp 127.0.0.1:":                           get("http://"+closed.Addr().String(), http.DefaultClient),
		"tls: the server's certificate is signed by":             get(secure.URL, http.DefaultClient),
		"tls: the server's certificate is not for search.exampl": get(secure.URL, &http.Client{Transport: others}),
		"tls: the server does not speak TLS":                     get(strings.Replace(plain.URL, "http:", "https:", 1), http.DefaultClient),
		"cut: EOF":                                               get(cut.URL, http.DefaultClient),
		"dns: no address of search.example":                      get("http://search.example", none),
	} {
		for _, err := range []error{err, Transient(fmt.Errorf("opensearch: no answer: %w", err)), errs.Errorf("no answer: %w", err)} {
			got := redact.LogText(err)
			class, text, _ := strings.Cut(want, ": ")
			if !strings.HasPrefix(got, class+": ") || !strings.Contains(got, text) || strings.Contains(got, "secret") {
				t.Errorf("%v reads %q, want %q", err, got, want)
			}
		}
	}
}

type plainError struct{ text string }

func (e plainError) Error() string { return e.text }

// A log text holds safe texts only, and nothing that may come from an item.
func TestLogText(t *testing.T) {
	for _, test := range []struct {
		err         error
		want, field string
	}{
		{errors.New("secret"), "unknown: *errors.errorString", ""},
		{errors.Join(plainError{"secret"}, io.EOF), "cut: EOF", ""},
		{errors.Join(plainError{"secret"}, plainError{"secret"}), "unknown: pipeline.plainError", ""},
		{context.DeadlineExceeded, "timeout: context deadline exceeded", ""},
		{&fs.PathError{Op: "write", Path: "/archive/customer=secret", Err: syscall.ENOSPC}, "disk_full: write: no space left on device", ""},
		{panicError("sink", "secret"), "panic: sink: a string", ""},
		{panicError("sink", plainError{"secret"}), "panic: sink: a pipeline.plainError", ""},
		{redact.Class("key").New("no key"), "key: no key", ""},
		{redact.Class("key").Errorf("the attribute %s is %s of %d bytes", redact.Field("Total"), "secret", 7), "key: the attribute Total is … of 7 bytes", "Total"},
		{redact.Class("key").Errorf("of %q and %v", "secret", []string{"secret"}), "key: of … and …", ""},
		{redact.Class("key").Errorf("element %d: %w", 3, redact.Class("template").Errorf("%s", redact.Field("Name"))), "template: element 3: Name", "Name"},
		{redact.Class("key").Errorf("it is: %w", plainError{"secret"}), "key: it is: pipeline.plainError", ""},
		{redact.Class("key").Errorf("it is: %v", plainError{"secret"}), "key: it is: pipeline.plainError", ""},
		{&expiredError{last: redact.Class("key").New("no key")}, "key: no key", ""},
		{&record.RecordError{Index: 3, Path: "dynamodb.NewImage.Map.M.secret", Err: ddbjson.ErrUTF8}, "undecodable: record 3 (byte 0), dynamodb.NewImage.Map: " + ddbjson.ErrUTF8.Error(), "dynamodb.NewImage.Map"},
	} {
		if got, field := redact.LogText(test.err), redact.ErrorField(test.err); got != test.want || field != test.field || strings.Contains(got, "secret") {
			t.Errorf("%v reads %q of the field %q, want %q of %q", test.err, got, field, test.want, test.field)
		}
	}
}

// The recovery of a sink is logged once, with how long the failure lasted. Each line about a failure has its class, its
// field and the command that shows more.
func TestLog_OfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		start := time.Now()
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			switch {
			case ds[0].Change.Key == "bad":
				return redact.Class("mapping").Errorf("%s is not a number", redact.Field("Price"))
			case time.Since(start) < time.Minute:
				return Transient(&net.DNSError{Name: "search.example"})
			}
			return nil
		}}
		p, err := New(Options{
			Name: "shop", DeadLetters: &graveyard{}, Routes: []Route{{Name: "orders", Sink: s, Batch: Batch{Count: 1}}},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			DetailCommand: func(f Failure) string {
				return fmt.Sprintf("look %s %v", f.Sink, f.Letter)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		if err := p.Run(t.Context(), pages(nil, pageOf(counts, "p", 1, "bad", "a", "b", "c"), pageOf(counts, "p", 2, "d")), nil); err != nil {
			t.Fatal(err)
		}
		said := log.String()
		for want, n := range map[string]int{
			`class=write partition=p sequence=1 error="mapping: Price is not a number" field=Price see="look orders true"`: 1,
			`class=write error="dns: no address of search.example" see="look orders false"`:                                -1,
			`msg="the sink works again"`: 1,
		} {
			if got := strings.Count(said, want); got != n && (n >= 0 || got == 0) {
				t.Errorf("%s is there %d times: %s", want, got, said)
			}
		}
		if _, rest, _ := strings.Cut(said, "down="); !strings.HasPrefix(rest, "1m") {
			t.Errorf("it was down for a minute and some: %s", said)
		}
	})
}

// An error can join several known errors. Its text is always that of the same one.
func TestLogText_OfJoinedErrors(t *testing.T) {
	err := errors.Join(io.EOF, fs.ErrExist, context.Canceled)
	for range 50 {
		if text := redact.LogText(err); text != "cancelled: context canceled" {
			t.Fatalf("the text is %q", text)
		}
	}
}
