package viewtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// inShards checks that a partition whose rows are spread over shards is read as one partition. It reads the partition
// in pages of each size, in both directions. Then elements move within the partition and leave it, and inShards reads
// it again.
func (s itemRowsCheck) inShards() {
	const shards, items = 4, 9
	sink := s.linesView(view.Options{Store: s, Shards: shards, ForEach: sinktest.LinesBy("")}, "P#{@shard}",
		"{each}#{@key}#{@each}")
	p := view.Partition{Table: s.target.Table, Keys: view.ShardKeys(shards, "P#", "")}
	var inserts, updates []sinktest.Record
	var sortKeysBefore, sortKeysAfter []string
	for i := range items {
		first := itemWithLines(i, "same", fmt.Sprint(items-i), "same")
		inserts = append(inserts, sinktest.Record{EventName: "INSERT", New: first})
		sortKeysBefore = append(sortKeysBefore, lineSortKeys(first)...)
		if i%3 == 0 { // the item stays as it is
			sortKeysAfter = append(sortKeysAfter, lineSortKeys(first)...)
			continue
		}
		second := itemWithLines(i, "same", "moved")
		updates = append(updates, sinktest.Record{EventName: "MODIFY", Old: first, New: second})
		sortKeysAfter = append(sortKeysAfter, lineSortKeys(second)...)
	}
	stream, err := sinktest.Build(append(inserts, updates...)...)
	must(s.t, err)

	for change := range len(inserts) {
		must(s.t, writeOne(s.t, sink, stream, change))
	}
	s.wantPartition(p, sortKeysBefore)
	for change := len(inserts); change < len(stream.Changes); change++ {
		must(s.t, writeOne(s.t, sink, stream, change))
	}
	s.wantPartition(p, sortKeysAfter)
}

// wantPartition checks the sort keys of a partition in both directions.
func (s itemRowsCheck) wantPartition(p view.Partition, want []string) {
	s.t.Helper()
	ascending := slices.Sorted(slices.Values(want))
	s.wantSortKeys(p, ascending, false)
	descending := slices.Clone(ascending)
	slices.Reverse(descending)
	s.wantSortKeys(p, descending, true)
}

// itemWithLines returns the item n, whose lines are texts.
func itemWithLines(n int, texts ...string) sinktest.Item {
	lines := make([]sinktest.Attr, len(texts))
	for i, line := range texts {
		lines[i] = text(line)
	}
	return sinktest.Item{"PK": text(fmt.Sprint("i", n)), "SK": text("x"), "Lines": sinktest.Attr{"L": lines}}
}

// lineSortKeys returns the sort keys of the rows of an item's lines.
func lineSortKeys(it sinktest.Item) (sks []string) {
	lines, _ := it["Lines"]["L"].([]sinktest.Attr)
	for i, line := range lines {
		sks = append(sks, fmt.Sprintf("%s#%s#%d", line["S"], keyOf(it, "PK", "SK"), i))
	}
	return sks
}

// wantSortKeys checks the sort keys of a partition. It reads the partition in pages of each size.
func (s itemRowsCheck) wantSortKeys(p view.Partition, want []string, reverse bool) {
	for limit := range len(want) + 2 {
		got := walkedSortKeys(walk(s.t, s, p, limit, reverse))
		checkEqual(s.t, fmt.Sprintf("reverse %t, limit %d", reverse, limit), got, want)
	}
}

// walkedSortKeys returns the sort keys of rows that walk returned. The sort keys are texts.
func walkedSortKeys(rows []string) (sks []string) {
	for _, row := range rows {
		_, sk, _ := strings.Cut(row, " ")
		sks = append(sks, strings.TrimSuffix(strings.TrimPrefix(sk, `{"S":"`), `"}`))
	}
	return sks
}
