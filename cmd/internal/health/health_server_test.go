package health_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// The endpoints answer 200 or 503, and say why.
func TestServer(t *testing.T) {
	var facts atomic.Pointer[health.Facts]
	facts.Store(&health.Facts{Live: true, Ready: true, HeartbeatsSucceed: true, HasReadLeases: true, Shards: 2, Read: 7})
	m := health.NewMonitor(health.Options{Every: 10 * time.Millisecond})
	asked := make(chan struct{})
	s, err := health.Start("127.0.0.1:0", m, health.Source(func(ctx context.Context) (health.Facts, error) {
		select {
		case asked <- struct{}{}:
		case <-ctx.Done():
		}
		return *facts.Load(), nil
	}), health.Paths{Status: func(v health.Verdict) any {
		return struct {
			health.Verdict
			Consumer map[string]int `json:"consumer"`
		}{v, map[string]int{"leases": 2}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked // the first observation is complete
	if code, v := get(t, s, "/livez"); code != 200 || v["live"] != true || v["read"] != 7.0 {
		t.Errorf("/livez: %d %v", code, v)
	}
	if code, v := get(t, s, "/readyz"); code != 200 || v["state"] != "idle" {
		t.Errorf("/readyz: %d %v", code, v)
	}
	if code, v := get(t, s, "/status"); code != 200 || v["consumer"].(map[string]any)["leases"] != 2.0 || v["shards"] != 2.0 {
		t.Errorf("/status: %d %v", code, v)
	}
	facts.Store(&health.Facts{Live: true, HeartbeatsSucceed: true, HasReadLeases: true, Leaving: true})
	<-asked
	<-asked
	if code, v := get(t, s, "/readyz"); code != 503 || len(v["reasons"].([]any)) != 1 {
		t.Errorf("/readyz of one that stops: %d %v", code, v)
	}
	if code, _ := get(t, s, "/livez"); code != 200 {
		t.Errorf("/livez of one that stops: %d", code)
	}
	if _, err := health.Start(s.Addr(), m, nil, health.Paths{}); err == nil {
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
	s, err := health.Start("0.0.0.0:0", health.NewMonitor(health.Options{}), health.Source(func(context.Context) (health.Facts, error) { return health.Facts{}, nil }), health.Paths{})
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

// codeOf returns the status code of a request whose Host is host.
func codeOf(t *testing.T, url, host string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// /status refuses a Host that is not this machine's. So a web page that resolves a name of its own to this machine
// reads no status. /livez and /readyz accept any Host, because probes choose it freely.
func TestHost(t *testing.T) {
	port := startEverywhere(t)
	const loopback, own = "127.0.0.1", "127.0.0.2" // own stands for the address of a pod
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8080": true, "127.0.0.1:8080": true, "127.0.0.2": true, "[::1]:8080": true, "0.0.0.0": true,
		"evil.example": false, "evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "10.1.2.3": false, "[fe80::1]": false, "": true,
	} {
		if host == "" {
			host = net.JoinHostPort(own, port)
		}
		if code := codeOf(t, "http://"+net.JoinHostPort(own, port)+"/status", host); (code == http.StatusForbidden) == want {
			t.Errorf("/status of %s: %d", host, code)
		}
		for _, probe := range []string{"/livez", "/readyz"} {
			if code := codeOf(t, "http://"+net.JoinHostPort(loopback, port)+probe, host); code == http.StatusForbidden {
				t.Errorf("%s of %s: %d", probe, host, code)
			}
		}
	}
}

// elsewhere is a listener whose connections report at as their local address.
type elsewhere struct {
	net.Listener
	at net.IPAddr
}

func (e elsewhere) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return reached{c, e.at}, nil
}

type reached struct {
	net.Conn
	at net.IPAddr
}

func (r reached) LocalAddr() net.Addr { return &net.TCPAddr{IP: r.at.IP, Zone: r.at.Zone, Port: 8080} }

// The address that a request reached counts as this machine's, even if it is no loopback address.
func TestHostOfAnotherAddress(t *testing.T) {
	for _, tt := range []struct {
		at    net.IPAddr
		hosts map[string]bool // whether the host is this machine's
	}{
		{at: net.IPAddr{IP: net.IPv4(10, 1, 2, 3)}, hosts: map[string]bool{
			"10.1.2.3": true, "10.1.2.3:8080": true, "[::ffff:10.1.2.3]:8080": true, "localhost": true, "10.1.2.4": false, "10.1.2.3.evil.example": false, "[fd00::2]": false,
		}},
		{at: net.IPAddr{IP: net.ParseIP("fd00::2")}, hosts: map[string]bool{"[fd00::2]": true, "[fd00::2]:8080": true, "[fd00::3]:8080": false, "10.1.2.3": false}},
		{at: net.IPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, hosts: map[string]bool{"[fe80::1]:8080": true, "[fe80::2]:8080": false}},
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := health.Serve(elsewhere{l, tt.at}, "0.0.0.0", health.NewMonitor(health.Options{}), health.Source(func(context.Context) (health.Facts, error) { return health.Facts{}, nil }), health.Paths{})
		for host, want := range tt.hosts {
			if code := codeOf(t, "http://"+s.Addr()+"/status", host); (code != http.StatusForbidden) != want {
				t.Errorf("%s: /status of %s: %d", tt.at.String(), host, code)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// On a loopback address, /metrics accepts only a Host of this machine. On another address, it accepts any Host, because
// a scraper may use any name of the machine. Without metrics the path does not exist.
func TestMetrics(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for _, tt := range []struct {
		addr, host string
		metrics    http.Handler
		want       int
	}{
		{"127.0.0.1:0", "127.0.0.1", metrics, http.StatusAccepted},
		{"127.0.0.1:0", "localhost:8080", metrics, http.StatusAccepted},
		{"127.0.0.1:0", "evil.example", metrics, http.StatusForbidden},
		{"0.0.0.0:0", "consumer.shop.svc", metrics, http.StatusAccepted},
		{"127.0.0.1:0", "127.0.0.1", nil, http.StatusNotFound},
	} {
		source := health.Source(func(context.Context) (health.Facts, error) { return health.Facts{}, nil })
		s, err := health.Start(tt.addr, health.NewMonitor(health.Options{}), source, health.Paths{Metrics: tt.metrics})
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(s.Addr())
		if code := codeOf(t, "http://127.0.0.1:"+port+"/metrics", tt.host); code != tt.want {
			t.Errorf("/metrics on %s for %s: %d, want %d", tt.addr, tt.host, code, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The page refuses a Host that is not this machine's. On an address that is not loopback, the page exists only if
// PageEverywhere is set.
func TestPage(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for _, tt := range []struct {
		addr, host string
		paths      health.Paths
		want       int
	}{
		{"127.0.0.1:0", "127.0.0.1", health.Paths{Page: page}, http.StatusAccepted},
		{"127.0.0.1:0", "localhost:8080", health.Paths{Page: page}, http.StatusAccepted},
		{"127.0.0.1:0", "evil.example", health.Paths{Page: page}, http.StatusForbidden},
		{"127.0.0.1:0", "127.0.0.1", health.Paths{}, http.StatusNotFound},
		{"0.0.0.0:0", "127.0.0.1", health.Paths{Page: page}, http.StatusNotFound},
		{"0.0.0.0:0", "127.0.0.1", health.Paths{Page: page, PageEverywhere: true}, http.StatusAccepted},
		{"0.0.0.0:0", "evil.example", health.Paths{Page: page, PageEverywhere: true}, http.StatusForbidden},
	} {
		source := health.Source(func(context.Context) (health.Facts, error) { return health.Facts{}, nil })
		s, err := health.Start(tt.addr, health.NewMonitor(health.Options{}), source, tt.paths)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(s.Addr())
		if code := codeOf(t, "http://127.0.0.1:"+port+"/", tt.host); code != tt.want {
			t.Errorf("/ on %s for %s: %d, want %d", tt.addr, tt.host, code, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
