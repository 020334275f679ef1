package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// kind is a kind of difference. Each injection of a kind has items of its own, whose keys begin with pk.
type kind struct {
	name   string
	items  func(tb *table, pk string) // adds the items and their changes
	inject func(s stores, tb *table, pk string)
	want   func(tb *table, pk string) []found // returns the findings that an audit must have
}

// found is a difference that an audit reports.
type found struct{ Sink, Kind, Place, Item, Verdict, Version string }

// stores changes the entries of sinks and state directly, without the pipeline. The parameters sink, pk and sk, row,
// index and id select the entry.
type stores interface {
	remember()                        // notes the present contents
	restoreRow(pk, sk string)         // restores the noted row
	restoreShares(sink, item string)  // restores the noted shares
	restoreDocument(index, id string) // restores the noted document

	removeRow(pk, sk string)
	changeRow(pk, sk, attribute, text string)
	copyRow(pk, sk, toPK, toSK, source string)
	setSource(pk, sk, source string)
	setBirth(pk, sk string)
	buryRow(pk, sk, version string) // replaces the row by a tombstone at its key
	addTombstone(sink, pk, sk, source, version string)

	removeGuard(item string)
	setGuard(item, row string)
	copyGuard(from, to string)
	removeClaim(row, item string)
	changeClaim(row, item, attribute, text string)
	copyClaim(row, from, to string)
	setOwner(row, item string)

	removeShares(sink, item string)
	copyShares(sink, from, to string) // keeps the version of the shares of to, if there are any
	changeSum(pk, sk string, by int)
	changeShareCount(pk, sk string)
	removeMember(pk, sk, value, item string)
	copyMember(pk, sk, value, from, to string)

	removeDocument(index, id string)
	changeDocument(index, id, field, text string)
	copyDocument(index, id, to string)
	buryDocument(index, id, version string)
	setDocumentBirth(index, id string)

	done() error
}

func second(pk string) string { return pk + "b" } // another item of the same injection
func ghost(pk string) string  { return pk + "g" } // an item that never existed

func rowPlace(pk, sk string) string {
	row, err := state.MakeRow(item.StringValue(pk), item.StringValue(sk))
	if err != nil {
		panic(err)
	}
	return string(row)
}

// one returns an item of some sinks with a group of its own.
func one(pk, sinks string) thing {
	return thing{pk: pk, sinks: sinks, group: pk, name: "n" + pk, price: 1 + len(pk), words: []string{"x", "y"}}
}

// adds returns a function that adds one item of some sinks.
func adds(sinks string) func(*table, string) {
	return func(tb *table, pk string) { tb.add(one(pk, sinks)) }
}

// addsTwo returns a function that adds two items of some sinks with the same group.
func addsTwo(sinks string) func(*table, string) {
	return func(tb *table, pk string) {
		a := one(pk, sinks)
		b := one(second(pk), sinks)
		b.group, b.price = a.group, a.price+10
		tb.add(a)
		tb.add(b)
	}
}

// changes returns a function that adds items and then changes the first of them.
func changes(items func(*table, string), change func(*thing)) func(*table, string) {
	return func(tb *table, pk string) {
		items(tb, pk)
		th := tb.now(pk)
		change(&th)
		tb.add(th)
	}
}

func goes(th *thing)   { th.gone = true }
func alters(th *thing) { th.price, th.name, th.words = th.price+100, "m"+th.pk, []string{"y", "z"} }

// kinds returns all kinds of differences that a repair fixes, with the findings that an audit must have.
func kinds() []kind {
	return slices.Concat(rowKinds("rows", "ROW#", "places"), rowKinds("places", "PLACE#", "rows"), apartKinds(), inPlaceKinds(), claimKinds(),
		shareKinds(), groupKinds(), documentKinds("exact"), documentKinds("fast"))
}

// kinds returns the kinds of differences that an audit of the deployment finds. An audit of a folder reads saved records,
// and some records of an item may be missing. So the audit skips the entries of an item that has no record, and the
// entries that are newer than the last record of their item. Only a read of the table shows whether these are right.
func (tb *table) kinds() []kind {
	if !tb.embedded {
		return kinds()
	}
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return slices.ContainsFunc(k.want(tb, injection(k, 0)), func(f found) bool {
			changes := len(tb.history[f.Item])
			return f.Item != "" && (changes == 0 || f.Version > tb.version(f.Item, changes))
		})
	})
}

// rowKinds returns the kinds of differences of rows that guard themselves. other is a sink that has the changes that
// this sink missed.
func rowKinds(sink, prefix, other string) []kind {
	of := func(verdict string, change int) func(*table, string) []found {
		return func(tb *table, pk string) []found {
			f := found{sink, "row", rowPlace(prefix+pk, pk), pk, verdict, ""}
			if change > 0 {
				f.Version = tb.version(pk, change)
			}
			return []found{f}
		}
	}
	return []kind{
		{sink + "-removed", adds(sink), func(s stores, _ *table, pk string) { s.removeRow(prefix+pk, pk) }, of("missing", 0)},
		{sink + "-changed", adds(sink), func(s stores, _ *table, pk string) { s.changeRow(prefix+pk, pk, "name", "drifted") }, of("wrong", 1)},
		{sink + "-more", adds(sink), func(s stores, _ *table, pk string) { s.changeRow(prefix+pk, pk, "colour", "red") }, of("wrong", 1)},
		{sink + "-added", adds(sink), func(s stores, _ *table, pk string) { s.copyRow(prefix+pk, pk, prefix+pk, ghost(pk), ghost(pk)) },
			func(tb *table, pk string) []found {
				return []found{{sink, "row", rowPlace(prefix+pk, ghost(pk)), ghost(pk), "extra", tb.version(pk, 1)}}
			}},
		{sink + "-moved", adds(sink), func(s stores, _ *table, pk string) {
			s.copyRow(prefix+pk, pk, prefix+"elsewhere", pk, pk)
			s.removeRow(prefix+pk, pk)
		}, func(tb *table, pk string) []found {
			return []found{
				{sink, "row", rowPlace(prefix+pk, pk), pk, "missing", ""},
				{sink, "row", rowPlace(prefix+"elsewhere", pk), pk, "extra", tb.version(pk, 1)},
			}
		}},
		{sink + "-stale", changes(adds(sink+" "+other), alters), func(s stores, _ *table, pk string) { s.restoreRow(prefix+pk, pk) }, of("stale", 1)},
		{sink + "-taken", addsTwo(sink), func(s stores, _ *table, pk string) { s.setSource(prefix+pk, pk, second(pk)) },
			func(tb *table, pk string) []found {
				place := rowPlace(prefix+pk, pk)
				return []found{{sink, "row", place, pk, "wrong", tb.version(pk, 1)}} // one write fixes it, so there is no extra
			}},
		{sink + "-risen", changes(adds(sink), goes), func(s stores, _ *table, pk string) { s.restoreRow(prefix+pk, pk) }, of("extra", 1)},
	}
}

// apartKinds returns the kinds of differences of sinks whose tombstones are apart from their rows. Some of these
// differences are tombstones that a person put at the keys of rows all the same.
func apartKinds() []kind {
	return []kind{
		{"tombstone-apart", adds("rows"), func(s stores, tb *table, pk string) {
			s.removeRow("ROW#"+pk, pk)
			s.addTombstone("rows", "ROW#"+pk, pk, pk, tb.version(pk, 2))
		}, func(tb *table, pk string) []found {
			return []found{{"rows", "row", rowPlace("ROW#"+pk, pk), pk, "missing", tb.version(pk, 2)}}
		}},
		{"buried", adds("rows"), func(s stores, tb *table, pk string) { s.buryRow("ROW#"+pk, pk, tb.version(pk, 1)) },
			func(tb *table, pk string) []found {
				return []found{{"rows", "row", rowPlace("ROW#"+pk, pk), pk, "missing", tb.version(pk, 1)}}
			}},
		{"names-buried", addsTwo("names"), func(s stores, tb *table, pk string) { s.buryRow("NAME#"+pk, "N", tb.version(pk, 1)) },
			func(tb *table, pk string) []found {
				return []found{{"names", "row", rowPlace("NAME#"+pk, "N"), pk, "missing", tb.version(pk, 1)}}
			}},
	}
}

// inPlaceKinds returns the kinds of differences of sinks whose tombstones are at the keys of rows.
func inPlaceKinds() []kind {
	return []kind{
		{"tombstone-in-place", adds("places"), func(s stores, tb *table, pk string) { s.buryRow("PLACE#"+pk, pk, tb.version(pk, 2)) },
			func(tb *table, pk string) []found {
				return []found{{"places", "row", rowPlace("PLACE#"+pk, pk), pk, "missing", tb.version(pk, 2)}}
			}},
	}
}

// claimKinds returns the kinds of differences of rows that two items claim. The first item owns the row, and the second
// item waits.
func claimKinds() []kind {
	row := func(pk string) string { return rowPlace("NAME#"+pk, "N") }
	two := addsTwo("names")
	of := func(kind, verdict string, change int, key func(string) string) func(*table, string) []found {
		return func(tb *table, pk string) []found {
			f := found{"names", kind, key(pk), key(pk), verdict, ""}
			if kind != "guard" {
				f.Place = row(pk)
			}
			if kind == "claim" {
				f.Place += " " + key(pk)
			}
			if change > 0 {
				of := key(pk)
				if tb.first[of] == 0 {
					of = second(pk) // the item that was copied
				}
				f.Version = tb.version(of, change)
			}
			return []found{f}
		}
	}
	first := func(pk string) string { return pk }
	return []kind{
		{"names-removed", two, func(s stores, _ *table, pk string) { s.removeRow("NAME#"+pk, "N") }, of("row", "missing", 0, first)},
		{"names-changed", two, func(s stores, _ *table, pk string) { s.changeRow("NAME#"+pk, "N", "name", "drifted") }, of("row", "wrong", 1, first)},
		{"names-swapped", two, func(s stores, tb *table, pk string) {
			s.setOwner(row(pk), second(pk))
			s.changeRow("NAME#"+pk, "N", "name", tb.now(second(pk)).name)
			s.setSource("NAME#"+pk, "N", second(pk))
		}, func(tb *table, pk string) []found {
			return []found{{"names", "row", row(pk), pk, "wrong", tb.version(pk, 1)}, {"names", "row", row(pk), second(pk), "wrong", tb.version(pk, 1)}, {"names", "seat", row(pk), pk, "wrong", ""}}
		}},
		{"guard-removed", two, func(s stores, _ *table, pk string) { s.removeGuard(pk) }, of("guard", "missing", 0, first)},
		{"guard-changed", two, func(s stores, _ *table, pk string) { s.setGuard(pk, rowPlace("NAME#nobody", "N")) }, of("guard", "wrong", 1, first)},
		{"guard-waiting", two, func(s stores, _ *table, pk string) { s.removeGuard(second(pk)) }, of("guard", "missing", 0, second)},
		{"guard-added", two, func(s stores, _ *table, pk string) { s.copyGuard(second(pk), ghost(pk)) }, of("guard", "extra", 1, ghost)},
		{"claim-removed", two, func(s stores, _ *table, pk string) { s.removeClaim(row(pk), second(pk)) }, of("claim", "missing", 0, second)},
		{"claim-changed", two, func(s stores, _ *table, pk string) { s.changeClaim(row(pk), second(pk), "name", "drifted") }, of("claim", "wrong", 1, second)},
		{"claim-added", two, func(s stores, _ *table, pk string) { s.copyClaim(row(pk), second(pk), ghost(pk)) }, of("claim", "extra", 1, ghost)},
		{"claim-owner-removed", two, func(s stores, _ *table, pk string) { s.removeClaim(row(pk), pk) }, of("claim", "missing", 0, first)},
		{"seat-changed", two, func(s stores, _ *table, pk string) { s.setOwner(row(pk), second(pk)) }, of("seat", "wrong", 0, first)},
		{"claim-owner-changed", two, func(s stores, _ *table, pk string) { s.changeClaim(row(pk), pk, "name", "drifted") }, of("claim", "wrong", 1, first)},
	}
}

// shareKinds returns the kinds of differences of contributions. Such a difference makes the rows of groups differ from
// the sum of the stored contributions, too.
func shareKinds() []kind {
	totals := func(verdict string, change int, of func(string) string, spoil func(tb *table, pk string, stored map[string]thing)) func(*table, string) []found {
		return func(tb *table, pk string) []found {
			rows := shareRows(group(tb, pk))
			stored := group(tb, pk)
			spoil(tb, pk, stored)
			f := found{"totals", "contribution", of(pk), of(pk), verdict, ""}
			if change > 0 {
				f.Version = tb.version(pk, change)
			}
			return append(groupsFound(tb, "totals", pk, rows, shareRows(stored)), f)
		}
	}
	first := func(pk string) string { return pk }
	words := func(tb *table, pk, version string, verdict string, groups ...found) []found {
		return append(groups, found{"words", "contribution", pk, pk, verdict, version})
	}
	word := func(tb *table, pk, w, verdict string) found {
		version := version(tb, len(tb.history[pk]), pk)
		if w == "z" { // the second item does not have this word
			version = tb.version(pk, 2)
		}
		return found{"words", "group", rowPlace("WORD#"+pk+"#"+w, "W"), "", verdict, version}
	}
	return []kind{
		{"share-removed", addsTwo("totals"), func(s stores, _ *table, pk string) { s.removeShares("totals", pk) },
			totals("missing", 0, first, func(_ *table, pk string, stored map[string]thing) { delete(stored, pk) })},
		{"share-changed", addsTwo("totals"), func(s stores, _ *table, pk string) { s.copyShares("totals", second(pk), pk) },
			totals("wrong", 1, first, func(_ *table, pk string, stored map[string]thing) { stored[pk] = stored[second(pk)] })},
		{"share-added", addsTwo("totals"), func(s stores, _ *table, pk string) { s.copyShares("totals", pk, ghost(pk)) },
			totals("extra", 1, ghost, func(_ *table, pk string, stored map[string]thing) { stored[ghost(pk)] = stored[pk] })},
		{"share-stale", changes(addsTwo("totals rows"), alters), func(s stores, _ *table, pk string) { s.restoreShares("totals", pk) },
			totals("stale", 1, first, func(tb *table, pk string, stored map[string]thing) { stored[pk] = tb.history[pk][0] })},
		{"words-removed", addsTwo("words"), func(s stores, _ *table, pk string) { s.removeShares("words", pk) }, func(tb *table, pk string) []found {
			return words(tb, pk, "", "missing", word(tb, pk, "x", "wrong"), word(tb, pk, "y", "wrong"))
		}},
		{"words-stale", changes(addsTwo("words rows"), alters), func(s stores, _ *table, pk string) { s.restoreShares("words", pk) }, func(tb *table, pk string) []found {
			return words(tb, pk, tb.version(pk, 1), "stale", word(tb, pk, "x", "wrong"), word(tb, pk, "y", "wrong"), word(tb, pk, "z", "extra"))
		}},
	}
}

// version returns the version of a group with two items, which is the version of the newest change of the two. n is the
// number of the last change of the first item.
func version(tb *table, n int, pk string) string {
	return max(tb.version(pk, n), tb.version(second(pk), 1))
}

// groupKinds returns the kinds of differences of groups whose shares are right.
func groupKinds() []kind {
	at := func(pk string) (string, string) { return fmt.Sprintf("TOTAL#%s~%d", pk, shardOf(pk)), "T" }
	of := func(verdict string) func(*table, string) []found {
		return func(tb *table, pk string) []found {
			return []found{{"totals", "group", groupPlace(pk, shardOf(pk)), "", verdict, groupVersion(tb, pk, shardOf(pk))}}
		}
	}
	word := func(pk, w string) string { return "WORD#" + pk + "#" + w }
	// The embedded stores keep the version of a group apart from its row.
	return []kind{
		{"group-sum", addsTwo("totals"), func(s stores, _ *table, pk string) { p, k := at(pk); s.changeSum(p, k, 7) }, of("wrong")},
		{"group-count", addsTwo("totals"), func(s stores, _ *table, pk string) { p, k := at(pk); s.changeShareCount(p, k) }, of("wrong")},
		{"group-attribute", addsTwo("totals"), func(s stores, _ *table, pk string) { p, k := at(pk); s.changeRow(p, k, "colour", "red") }, of("wrong")},
		{"member-removed", addsTwo("totals"), func(s stores, _ *table, pk string) { p, k := at(pk); s.removeMember(p, k, "least", pk) }, of("wrong")},
		{"member-added", addsTwo("totals"), func(s stores, _ *table, pk string) { p, k := at(pk); s.copyMember(p, k, "most", pk, ghost(pk)) }, of("wrong")},
		{"group-removed", addsTwo("words"), func(s stores, _ *table, pk string) { s.removeRow(word(pk, "x"), "W") }, func(tb *table, pk string) []found {
			return []found{{"words", "group", rowPlace(word(pk, "x"), "W"), "", "missing", version(tb, 1, pk)}}
		}},
		{"group-added", addsTwo("words"), func(s stores, _ *table, pk string) { s.copyRow(word(pk, "x"), "W", word(pk, "ghost"), "W", "") }, func(tb *table, pk string) []found {
			return []found{{"words", "group", rowPlace(word(pk, "ghost"), "W"), "", "extra", ""}}
		}},
	}
}

// documentKinds returns the kinds of differences of the documents of a sink.
func documentKinds(sink string) []kind {
	of := func(verdict string, change int) func(*table, string) []found {
		return func(tb *table, pk string) []found {
			f := found{sink, "document", sink + "//" + pk, pk, verdict, ""}
			if change > 0 {
				f.Version = tb.version(pk, change)
			}
			return []found{f}
		}
	}
	return []kind{
		{sink + "-removed", adds(sink), func(s stores, _ *table, pk string) { s.removeDocument(sink, pk) }, of("missing", 0)},
		{sink + "-changed", adds(sink), func(s stores, _ *table, pk string) { s.changeDocument(sink, pk, "Name", "drifted") }, of("wrong", 1)},
		{sink + "-added", adds(sink), func(s stores, _ *table, pk string) { s.copyDocument(sink, pk, ghost(pk)) }, func(tb *table, pk string) []found {
			return []found{{sink, "document", sink + "//" + ghost(pk), ghost(pk), "extra", tb.version(pk, 1)}}
		}},
		{sink + "-moved", adds(sink), func(s stores, _ *table, pk string) {
			s.copyDocument(sink, pk, ghost(pk))
			s.removeDocument(sink, pk)
		}, func(tb *table, pk string) []found {
			return []found{{sink, "document", sink + "//" + pk, pk, "missing", ""}, {sink, "document", sink + "//" + ghost(pk), ghost(pk), "extra", tb.version(pk, 1)}}
		}},
		{sink + "-stale", changes(adds(sink+" rows"), alters), func(s stores, _ *table, pk string) { s.restoreDocument(sink, pk) }, of("stale", 1)},
		{sink + "-buried", adds(sink), func(s stores, tb *table, pk string) { s.buryDocument(sink, pk, tb.version(pk, 2)) }, of("missing", 2)},
		{sink + "-risen", changes(adds(sink), goes), func(s stores, _ *table, pk string) { s.restoreDocument(sink, pk) }, of("extra", 1)},
	}
}

// birthKinds returns the kinds of entries that another output of the sinks left. A repair does not change these
// entries, because the program does not know what else is lost.
func birthKinds() []kind {
	row := func(sink, prefix, sk string) kind {
		return kind{sink + "-birth", adds(sink), func(s stores, _ *table, pk string) { s.setBirth(prefix+pk, cmp.Or(sk, pk)) }, func(tb *table, pk string) []found {
			return []found{{sink, "row", rowPlace(prefix+pk, cmp.Or(sk, pk)), pk, "wrong", tb.version(pk, 1)}}
		}}
	}
	document := func(sink string) kind {
		return kind{sink + "-birth", adds(sink), func(s stores, _ *table, pk string) { s.setDocumentBirth(sink, pk) }, func(tb *table, pk string) []found {
			return []found{{sink, "document", sink + "//" + pk, pk, "wrong", tb.version(pk, 1)}}
		}}
	}
	group := kind{"group-birth", adds("words"), func(s stores, _ *table, pk string) { s.setBirth("WORD#"+pk+"#x", "W") }, func(_ *table, pk string) []found {
		return []found{{"words", "group", rowPlace("WORD#"+pk+"#x", "W"), "", "wrong", ""}}
	}}
	return []kind{row("rows", "ROW#", ""), row("places", "PLACE#", ""), row("names", "NAME#", "N"), group, document("exact"), document("fast")}
}
