package health_test

import (
	"context"
	"encoding/json"
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
