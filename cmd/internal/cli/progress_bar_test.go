package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, total, records int64
		took                 time.Duration
		want                 string
	}{
		{250, 1000, 5000, 10 * time.Second, " 25% 5,000 records, 500 a second, 30s left"},
		{1000, 1000, 20000, 40 * time.Second, "100% 20,000 records, 500 a second, 0s left"},
		{1200, 1000, 20000, 40 * time.Second, "20,000 records, 500 a second"}, // the total was an estimate
		{1200, 0, 20000, 40 * time.Second, "20,000 records, 500 a second"},
		{0, 1000, 0, 5 * time.Second, "0 records, 0 a second"},
		{0, 0, 0, 0, "0 records, 0 a second"},
	} {
		if got := progressLine(c.done, c.total, c.records, c.took); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A process reports the items of all processes, its own rate, and the time that all of them need for the rest.
func TestItemProgressLine(t *testing.T) {
	for _, c := range []struct {
		progress ItemProgress
		want     string
	}{
		{ItemProgress{Items: 250, TotalItems: 2000, OwnItems: 250}, " 12% 250 of 2,000 items, 25 a second, 1m10s left"},
		{ItemProgress{Items: 1500, TotalItems: 2000, EarlierItems: 1000, OwnItems: 100}, " 75% 1,500 of 2,000 items, 10 a second, 10s left"},
		{ItemProgress{Items: 1000, TotalItems: 2000, EarlierItems: 1000}, " 50% 1,000 of 2,000 items, 0 a second"},
		{ItemProgress{Items: 2000, TotalItems: 2000, OwnItems: 2000}, "100% 2,000 of 2,000 items, 200 a second, 0s left"},
		{ItemProgress{Items: 60, Bytes: 500, TotalBytes: 2000, EarlierBytes: 100, OwnItems: 50}, " 25% 60 items, 5 a second, 38s left"},
		{ItemProgress{Items: 2500, TotalItems: 2000, OwnItems: 2500}, "2,500 items, 250 a second"}, // the total was an estimate
		{ItemProgress{}, "0 items, 0 a second"},
	} {
		if got := c.progress.line(10 * time.Second); got != c.want {
			t.Errorf("%+v: %q, want %q", c.progress, got, c.want)
		}
	}
}

// On a terminal the bar shows the same rate. The rate does not count items that were finished before the process began.
func TestItemProgressBar(t *testing.T) {
	var terminal bytes.Buffer
	p := &Progress{description: "filling", bar: newBar(&terminal, "filling", 2000, itemBarOptions...), begun: time.Now().Add(-10 * time.Second)}
	p.UpdateItems(ItemProgress{Items: 1500, TotalItems: 2000, EarlierItems: 1000, OwnItems: 105})
	time.Sleep(120 * time.Millisecond) // the bar is drawn ten times a second
	p.UpdateItems(ItemProgress{Items: 1500, TotalItems: 2000, EarlierItems: 1000, OwnItems: 105})
	frames := strings.Split(strings.TrimSpace(terminal.String()), "\r")
	last := frames[len(frames)-1]
	want := "filling: 1,500 items, 10 a second, 10s left"
	if !strings.HasPrefix(last, want) || !strings.Contains(last, "75%") || strings.Contains(last, "it/s") || strings.Contains(last, "[0s") {
		t.Errorf("%q, want %q and the items", last, want)
	}
}

// The bar continues if the table has more items than DynamoDB counted.
func TestItemProgressBar_OutgrowsItsTotal(t *testing.T) {
	var terminal bytes.Buffer
	p := &Progress{description: "filling", bar: newBar(&terminal, "filling", 100, itemBarOptions...), begun: time.Now()}
	for _, items := range []int64{50, 150, 200} {
		time.Sleep(120 * time.Millisecond)
		p.UpdateItems(ItemProgress{Items: items, TotalItems: 100, Bytes: items, TotalBytes: 1000, OwnItems: items})
	}
	if last := terminal.String(); !strings.Contains(last, "200 items") {
		t.Errorf("%q, want 200 items", last)
	}
}
