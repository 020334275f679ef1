package viewtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// inShards checks that the rows of elements in shards are read as one partition: in pages of each size and in both
// directions. It checks this before and after elements move within the partition and leave it.
func (s itemRowsCheck) inShards() {
	const shards, items = 4, 9
	sink := s.linesView(view.Options{Store: s, Shards: shards, ForEach: sinktest.LinesBy("")}, "P#{@shard}",
		"{each}#{@key}#{@each}")
	p := view.Partition{Table: s.target.Table, Keys: view.ShardKeys(shards, "P#", "")}
	var before, after []sinktest.Record
	var sortKeysBefore, sortKeysAfter []string
	image := func(i int, texts ...string) sinktest.Item {
		list := make([]sinktest.Attr, len(texts))
		for at, t := range texts {
			list[at] = text(t)
		}
		return sinktest.Item{"PK": text(fmt.Sprint("i", i)), "SK": text("x"), "Lines": sinktest.Attr{"L": list}}
	}
	sortKeys := func(it sinktest.Item) (sks []string) {
		list, _ := it["Lines"]["L"].([]sinktest.Attr)
		for at, t := range list {
			sks = append(sks, fmt.Sprintf("%s#%s#%d", t["S"], keyOf(it, "PK", "SK"), at))
		}
		return sks
	}
	for i := range items {
		first := image(i, "same", fmt.Sprint(items-i), "same")
		second := image(i, "same", "moved")
		before = append(before, sinktest.Record{EventName: "INSERT", New: first})
		sortKeysBefore = append(sortKeysBefore, sortKeys(first)...)
		if i%3 == 0 {
			sortKeysAfter = append(sortKeysAfter, sortKeys(first)...)
			continue
		}
		after = append(after, sinktest.Record{EventName: "MODIFY", Old: first, New: second})
		sortKeysAfter = append(sortKeysAfter, sortKeys(second)...)
	}
	stream, err := sinktest.Build(append(before, after...)...)
	must(s.t, err)
	at := 0
	for _, step := range []struct {
		records int
		want    []string
	}{{len(before), sortKeysBefore}, {len(after), sortKeysAfter}} {
		for range step.records {
			must(s.t, writeOne(s.t, sink, stream, at))
			at++
		}
		slices.Sort(step.want)
		s.wantSortKeys(p, step.want, false)
		slices.Reverse(step.want)
		s.wantSortKeys(p, step.want, true)
	}
}

// wantSortKeys expects the sort keys of a partition, read in pages of each size.
func (s itemRowsCheck) wantSortKeys(p view.Partition, want []string, reverse bool) {
	for limit := range len(want) + 2 {
		var got []string
		for _, r := range walk(s.t, s, p, limit, reverse) {
			_, sk, _ := strings.Cut(r, " ")
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(sk, `{"S":"`), `"}`))
		}
		checkEqual(s.t, fmt.Sprintf("reverse %t, limit %d", reverse, limit), got, want)
	}
}
