package scan_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// capacity refuses requests of pages of 256 units beyond a number of units a second.
type capacity struct {
	perSecond float64
	left      float64
	at        time.Time
	refused   int
}

func (c *capacity) fault(int, string) (status int, answer string, header http.Header, err error) {
	now := time.Now()
	if c.at.IsZero() {
		c.at, c.left = now, c.perSecond
	}
	c.left = min(c.left+c.perSecond*now.Sub(c.at).Seconds(), c.perSecond)
	c.at = now
	if c.left < 0 {
		c.refused++
		return 400, refusal("ProvisionedThroughputExceededException"), nil, nil
	}
	c.left -= 256
	return 0, "", nil, nil
}

// A scan of a table that cannot give what was asked for slows down, with and without a limit, and reads everything.
func TestScan_SlowsDown(t *testing.T) {
	for _, rcu := range []float64{0, 5000} {
		t.Run(fmt.Sprint(rcu), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				const segments, pages = 4, 200
				c := &capacity{perSecond: 1000}
				table := &fakeTable{pages: always(pages), fault: c.fault, latency: 10 * time.Millisecond}
				var slowed []float64
				s := open(t, table.client(), scan.Options{Table: "shop", Segments: segments, RCU: rcu, Slowed: func(rate float64) { slowed = append(slowed, rate) }})
				begun := time.Now()
				var all sync.WaitGroup
				for i := range segments {
					all.Go(func() {
						read, err := readPart(t.Context(), s, fmt.Sprintf("%04d/%04d", i, segments), "")
						if err != nil || len(read) != pages {
							t.Errorf("segment %d: %d pages, %v", i, len(read), err)
						}
					})
				}
				all.Wait()
				least := time.Duration(segments * pages * 256 / c.perSecond * float64(time.Second))
				if took := time.Since(begun); took > 2*least {
					t.Errorf("it took %v, want %v at least and twice that at most", took, least)
				}
				if len(slowed) == 0 || rcu > 0 && slowed[0] > rcu/2 {
					t.Fatalf("it was slowed to %v", slowed)
				}
				if c.refused > segments*pages { // the waits between two tries are random: usually half as many
					t.Errorf("%d requests were refused, of %d", c.refused, segments*pages)
				}
				t.Logf("%d of %d requests were refused in %v; slowed to %.0f", c.refused, segments*pages+c.refused, time.Since(begun), slowed)
			})
		})
	}
}

// A pace is restored within a minute.
func TestPace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := scan.NewPace(600, nil)
		want := func(rate float64) {
			t.Helper()
			if got := p.Rate(); got < rate-0.01 || got > rate+0.01 {
				t.Errorf("%.2f units a second, want %.2f", got, rate)
			}
		}
		want(600)
		p.SlowDown()
		p.SlowDown()
		want(300)
		time.Sleep(10 * time.Second)
		want(400)
		p.SlowDown()
		want(200)
		time.Sleep(time.Minute)
		want(600)
		for range 20 {
			p.SlowDown()
			time.Sleep(time.Second)
		}
		if rate := p.Rate(); rate < 1 || rate > 25 {
			t.Errorf("%.2f units a second after 20 seconds of throttling", rate)
		}

		p = scan.NewPace(0, nil)
		want(0)
		p.AddUnits(300)
		p.SlowDown()
		want(150)
		time.Sleep(30 * time.Second)
		want(300)
	})
}
