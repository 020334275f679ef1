package run

import (
	"math"
	"slices"

	"github.com/tablewake/tablewake/sinks/audit"
)

// tally counts the work of an audit.
type tally struct {
	Items       int64 // items that were read and selected
	Undecodable int64 // items that could not be decoded
	Suspects    int64 // suspects in the files of the first round
	Sinks       []sinkTally
}

// sinkTally counts the work of an audit for one sink.
type sinkTally struct {
	Expected int64 // entries that the items should have
	Stored   int64 // entries that the sink holds
	Compared int64 // places that were joined or, in a sample, rechecked

	Groups          int64 // part of Compared: groups that were compared with sums, without a join
	GroupsDiffering int64 // number of these groups that differ

	Findings map[audit.Verdict]int64
	Notes    []string // which places of named items were not searched, and why; sorted
}

// addNote adds a text to Notes, unless the text is "" or already in it.
func (t *sinkTally) addNote(text string) {
	if i, known := slices.BinarySearch(t.Notes, text); text != "" && !known {
		t.Notes = slices.Insert(t.Notes, i, text)
	}
}

// add adds the counts of items and of required entries.
func (t *tally) add(other *tally) {
	t.Items += other.Items
	t.Undecodable += other.Undecodable
	for i := range other.Sinks {
		t.Sinks[i].Expected += other.Sinks[i].Expected
	}
}

func newTally(sinks int) tally {
	t := tally{Sinks: make([]sinkTally, sinks)}
	for i := range t.Sinks {
		t.Sinks[i].Findings = make(map[audit.Verdict]int64)
	}
	return t
}

// requiredEntries returns the number of required entries of all sinks.
func (t *tally) requiredEntries() (n int64) {
	for i := range t.Sinks {
		n += t.Sinks[i].Expected
	}
	return n
}

// differingEntries returns the number of entries that differ.
func (t *sinkTally) differingEntries() (n int64) {
	for v, count := range t.Findings {
		if v.Differs() || v == audit.Held {
			n += count
		}
	}
	return n
}

// undecidedEntries returns the number of entries for which it is unknown whether they differ.
func (t *sinkTally) undecidedEntries() int64 {
	return t.Findings[audit.Busy] + t.Findings[audit.Skipped]
}

// upperBound returns the upper limit of the share of differing entries, with a confidence of 95 % (one-sided, Clopper
// and Pearson). examined is the number of entries in the sample, and differing is the number of them that differ. If
// the returned share of all entries differed, only one sample in twenty would have so few differing entries.
func upperBound(differing, examined int64) float64 {
	if examined == 0 || differing >= examined {
		return 1
	}
	low, high := 0.0, 1.0
	for range 60 { // bisection
		share := (low + high) / 2
		if atMost(differing, examined, share) > 0.05 {
			low = share
		} else {
			high = share
		}
	}
	return high
}

// atMost returns the probability that at most k of n events happen, if each event happens with probability p.
func atMost(k, n int64, p float64) float64 {
	sum := 0.0
	logN, _ := math.Lgamma(float64(n + 1))
	for i := int64(0); i <= k; i++ {
		logI, _ := math.Lgamma(float64(i + 1))
		logRest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(logN - logI - logRest + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
