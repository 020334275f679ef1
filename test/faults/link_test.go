package faults

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// linked returns the two ends of a link without a network: that of the client and that of the server.
func linked(t *testing.T, f Fault) (client, server net.Conn) {
	t.Helper()
	client, near := net.Pipe()
	far, server := net.Pipe()
	l := newLink(near, far)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(f)
	}()
	t.Cleanup(func() {
		l.end()
		<-done
		_, _ = client.Close(), server.Close()
	})
	return client, server
}

// took returns the time until n bytes that are written to src arrive at dst.
func took(t *testing.T, dst, src net.Conn, n int) time.Duration {
	t.Helper()
	began := time.Now()
	go func() { _, _ = src.Write(make([]byte, n)) }()
	if _, err := io.ReadFull(dst, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestSlowFaultsAreAsSlowAsTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := linked(t, Fault{})
		if there, back := took(t, server, client, 100_000), took(t, client, server, 100_000); there != 0 || back != 0 {
			t.Errorf("without a fault %v and %v", there, back)
		}
		client, server = linked(t, Latency())
		if there, back := took(t, server, client, 1000), took(t, client, server, 1000); there != 0 || back < 10*time.Millisecond || back > 30*time.Millisecond {
			t.Errorf("latency: %v and %v", there, back)
		}
		client, server = linked(t, Trickle())
		if there, back := took(t, server, client, 256_000), took(t, client, server, 256_000); there != time.Second || back != 0 {
			t.Errorf("bandwidth: %v and %v", there, back)
		}
	})
}

func TestAnEndReachesTheClientAsTheFaultSays(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		after time.Duration // 0: at once; -1: not in an hour
	}{
		{Fault{}, 0}, {Latency(), 0}, {SlowClose(), 100 * time.Millisecond}, {Silence(), 100 * time.Millisecond}, {Hang(), -1},
	} {
		t.Run(tt.fault.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := linked(t, tt.fault)
				began := time.Now()
				_ = server.Close()
				_ = client.SetReadDeadline(began.Add(time.Hour))
				_, err := client.Read(make([]byte, 1))
				switch wait := time.Since(began); {
				case tt.after < 0 && wait < time.Hour:
					t.Errorf("%v after %v", err, wait)
				case tt.after >= 0 && (wait != tt.after || !errors.Is(err, io.EOF)):
					t.Errorf("%v after %v, want an end after %v", err, wait, tt.after)
				}
			})
		})
	}
}

func TestAResetIsOne(t *testing.T) {
	for _, f := range []Fault{ResetRequests(), ResetAnswers()} {
		url, _ := echo(t)
		p := Before(t, url)
		if err := p.Begin(f, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := post(client(t), p.Endpoint(), 1); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", f, err)
		}
	}
}
