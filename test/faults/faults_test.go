package faults

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// echo answers a request with its body, and counts the requests that it has read completely.
func echo(t *testing.T) (url string, whole func() int) {
	seen := make(chan struct{}, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		seen <- struct{}{}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int { return len(seen) }
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// post sends n bytes and expects them back.
func post(c *http.Client, url string, n int) error {
	sent := strings.Repeat("x", n)
	resp, err := c.Post(url, "text/plain", strings.NewReader(sent))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, []byte(sent)) {
		return errors.New("another answer than the server's")
	}
	return nil
}

// Each fault breaks a request as its documentation says. The test also checks whether the server has received all of
// it.
func TestEachFaultDoesWhatItSays(t *testing.T) {
	for _, tt := range []struct {
		fault         Fault
		breaks, asked bool
	}{
		{Latency(), false, true},
		{ResetRequests(), true, false},
		{ResetAnswers(), true, true},
		{Silence(), true, true},
		{SlowClose(), false, true},
		{Trickle(), false, true},
		{CutAnswers(), true, true},
		{CutRequests(), true, false},
		{Refusal(), true, false},
	} {
		t.Run(tt.fault.Name, func(t *testing.T) {
			url, whole := echo(t)
			p := Before(t, url)
			if err := post(client(t), p.Endpoint(), 50_000); err != nil {
				t.Fatalf("before the fault: %v", err)
			}
			if err := p.Begin(tt.fault, time.Minute); err != nil {
				t.Fatal(err)
			}
			if err := post(client(t), p.Endpoint(), 50_000); (err != nil) != tt.breaks {
				t.Errorf("under the fault: %v", err)
			}
			if asked := whole() == 2; asked != tt.asked {
				t.Errorf("the server was asked: %t", asked)
			}
			if err := p.End(); err != nil {
				t.Fatal(err)
			}
			if err := post(client(t), p.Endpoint(), 50_000); err != nil {
				t.Errorf("after the fault: %v", err)
			}
		})
	}
}

func TestABeginningBreaksWhatIsConnected(t *testing.T) {
	url, _ := echo(t)
	p := Before(t, url)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.Endpoint(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1000)); err != nil {
		t.Fatalf("before the fault: %v", err)
	}
	if err := p.Begin(Latency(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlived the beginning of a fault")
	}
}

func TestAFaultEndsByItself(t *testing.T) {
	url, _ := echo(t)
	p, c := Before(t, url), client(t)
	if err := p.Begin(Refusal(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for post(c, p.Endpoint(), 1) != nil {
		select {
		case <-t.Context().Done():
			t.Fatal("it did not end")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAClosedProxyStaysClosed(t *testing.T) {
	url, _ := echo(t)
	p, c := Before(t, url), client(t)
	p.close()
	if err := p.Begin(Latency(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := post(c, p.Endpoint(), 1); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}
