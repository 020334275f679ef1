package health_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/cmd/tablewake/internal/health"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The endpoints say 200 or 503, and why.
func TestServer(t *testing.T) {
	var facts atomic.Pointer[health.Facts]
	facts.Store(&health.Facts{Live: true, Ready: true, Contact: true, Seen: true, Shards: 2, Read: 7})
	j := health.NewJudge(health.Options{Every: 10 * time.Millisecond})
	asked := make(chan struct{})
	s, err := health.Start("127.0.0.1:0", j, health.SourceFunc(func(ctx context.Context) (health.Facts, error) {
		select {
		case asked <- struct{}{}:
		case <-ctx.Done():
		}
		return *facts.Load(), nil
	}), func() any { return map[string]int{"leases": 2} })
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked // the first observation is in
	if code, v := get(t, s, "/livez"); code != 200 || v["live"] != true || v["read"] != 7.0 {
		t.Errorf("/livez: %d %v", code, v)
	}
	if code, v := get(t, s, "/readyz"); code != 200 || v["state"] != "idle" {
		t.Errorf("/readyz: %d %v", code, v)
	}
	if code, v := get(t, s, "/status"); code != 200 || v["consumer"].(map[string]any)["leases"] != 2.0 || v["shards"] != 2.0 {
		t.Errorf("/status: %d %v", code, v)
	}
	facts.Store(&health.Facts{Live: true, Contact: true, Seen: true, Leaving: true})
	<-asked
	<-asked
	if code, v := get(t, s, "/readyz"); code != 503 || len(v["reasons"].([]any)) != 1 {
		t.Errorf("/readyz of one that stops: %d %v", code, v)
	}
	if code, _ := get(t, s, "/livez"); code != 200 {
		t.Errorf("/livez of one that stops: %d", code)
	}
	if _, err := health.Start(s.Addr(), j, nil, nil); err == nil {
		t.Error("two listen on one address")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func get(t *testing.T, s *health.Server, path string) (int, map[string]any) {
	t.Helper()
	r, err := http.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, v
}

// startEverywhere starts a server at all addresses of the machine until the test ends.
func startEverywhere(t *testing.T) (port string) {
	t.Helper()
	s, err := health.Start("0.0.0.0:0", health.NewJudge(health.Options{}), health.SourceFunc(func(context.Context) (health.Facts, error) { return health.Facts{}, nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_, port, err = net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A page of the web that gives this machine's address a name of its own reads no status. Probes say
// whatever Host they like.
func TestHost(t *testing.T) {
	port := startEverywhere(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(at, path, host string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(at, port)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	const loopback, own = "127.0.0.1", "127.0.0.2" // as that of a pod, which is another one in each
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8080": true, "127.0.0.1:8080": true, "127.0.0.2": true, "[::1]:8080": true, "0.0.0.0": true,
		"evil.example": false, "evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "10.1.2.3": false, "[fe80::1]": false, "": true,
	} {
		if host == "" {
			host = net.JoinHostPort(own, port)
		}
		if code := ask(own, "/status", host); (code == http.StatusForbidden) == want {
			t.Errorf("/status of %s: %d", host, code)
		}
		for _, probe := range []string{"/livez", "/readyz"} {
			if code := ask(loopback, probe, host); code == http.StatusForbidden {
				t.Errorf("%s of %s: %d", probe, host, code)
			}
		}
	}
}

// The address that a request reached is its own, also where it is none of the loopback.
func TestHostOfAnotherAddress(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.To4() == nil {
			continue
		}
		port := startEverywhere(t)
		resp, err := http.Get("http://" + net.JoinHostPort(n.IP.String(), port) + "/status")
		if err != nil {
			t.Skip(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusForbidden {
			t.Errorf("/status of %s: %d", n.IP, resp.StatusCode)
		}
		http.DefaultClient.CloseIdleConnections()
		return
	}
	t.Skip("this machine has no other address")
}
