package sinktest

import (
	"encoding/base64"
	"maps"
	"strconv"
	"testing"
)

// fact makes records for the properties that need a specific stream. keys has the types of the key attributes, by name.
type fact struct{ keys map[string]string }

func (s Suite) fact() fact { return fact{s.Stream.withDefaults().Keys} }

// item returns an Order with the given status. Its key attributes are made of letter, whatever their types are.
func (f fact) item(letter byte, status string) Item {
	it := Item{
		"Type": {"S": "Order"}, "Status": {"S": status}, "Rank": {"N": "1"}, "CreatedAt": {"S": "2026-01-02T23:59:59Z"},
		"Total": {"N": "10.5"}, "Any": {"S": "x"}, "Lines": {"L": []Attr{{"M": Item{"sku": {"S": "a"}, "qty": {"N": "2"}}}}},
	}
	maps.Copy(it, f.key(letter))
	return it
}

func (f fact) key(letter byte) Item {
	k := Item{}
	for name, kind := range f.keys {
		switch kind {
		case "N":
			k[name] = Attr{"N": strconv.Itoa(int(letter))}
		case "B":
			k[name] = Attr{"B": base64.StdEncoding.EncodeToString([]byte{letter})}
		default:
			k[name] = Attr{"S": string(letter)}
		}
	}
	return k
}

// record returns the record of a change of an item's status. from and to are the statuses before and after the change;
// "" means that the item does not exist.
func (f fact) record(letter byte, from, to string) Record {
	r := Record{EventName: "MODIFY", Keys: f.key(letter), Second: epoch}
	if from == "" {
		r.EventName = "INSERT"
	} else {
		r.Old = f.item(letter, from)
	}
	if to == "" {
		r.EventName = "REMOVE"
	} else {
		r.New = f.item(letter, to)
	}
	return r
}

// history returns the changes of three items. Item a changes its status and changes back. Item b is removed and
// inserted again. Item c does not change.
func (f fact) history() []Record {
	return []Record{
		f.record('a', "", "paid"),
		f.record('b', "", "paid"),
		f.record('c', "", "paid"),
		f.record('a', "paid", "shipped"),
		f.record('b', "paid", ""),
		f.record('a', "shipped", "paid"),
		f.record('b', "", "shipped"),
	}
}

// inBatches delivers all records in batches of every length. Each length has a new store.
func inBatches(t *testing.T, s Suite, after string, records []Record) {
	for n := 1; n <= len(records); n++ {
		runFixed(t, s, func(st *stage) {
			st.must(st.worker(nil).all(st, st.stream.Changes, n))
			st.compareWithModel(after)
		}, records...)
	}
}

// Fact 1: sequence numbers are 21 to 40 decimal digits; compare numerically,
// never as text, never as int64.
func sequencesAreNumbers(t *testing.T, s Suite) {
	records := s.fact().history()
	for i, sequence := range []string{
		"900000000000000000000",
		"999999999999999999998",
		"999999999999999999999",
		"1000000000000000000000",
		"5000000000000000000000000",
		"1000000000000000000000000000000000000000",
		"1000000000000000000000000000000000000001",
	} {
		records[i].Sequence = sequence
	}
	inBatches(t, s, "sequence numbers grew in length", records)
	runFixed(t, s, func(st *stage) {
		st.must(st.worker(nil).all(st, st.stream.Changes, 1))
		for i := range st.stream.Changes {
			st.must(st.worker(nil).all(st, st.stream.Changes[i:], 1))
			st.compareWithModel("a replay of changes with shorter sequence numbers")
		}
	}, records...)
}

// Fact 19: a store that forgets deleted versions lets a late old write resurrect a deleted item.
func lateWriteAfterDelete(t *testing.T, s Suite) {
	f := s.fact()
	records := []Record{f.record('a', "", "paid"), f.record('a', "paid", "shipped"), f.record('a', "shipped", "")}
	records[2].Second++
	runFixed(t, s, func(st *stage) {
		st.must(st.worker(nil).all(st, st.stream.Changes, 1))
		closeWith(st.tb, st.store.Close)
		st.open()
		late := st.worker(nil)
		st.must(late.deliver(st.ctx, st.stream.Changes[:1]))
		st.must(late.deliver(st.ctx, st.stream.Changes[:2]))
		st.must(late.flush(st.ctx))
		st.compareWithModel("old writes came after the delete")
	}, records...)
}

// Fact 20: a version made of second and counter restarts at 0 after a restart, so
// a newer write of the same second can lose.
func oneSecond(t *testing.T, s Suite) {
	records := s.fact().history()
	for n := range records {
		runFixed(t, s, func(st *stage) {
			st.must(st.worker(nil).all(st, st.stream.Changes[:n], 1))
			st.crash()
			st.must(st.worker(nil).all(st, st.stream.Changes[n:], 1))
			st.compareWithModel("changes of one second, with a restart among them")
		}, records...)
	}
}

// Fact 21: delete then re-insert of one key in one batch must end with it present.
func deleteThenInsert(t *testing.T, s Suite) {
	f := s.fact()
	records := []Record{f.record('a', "", "paid"), f.record('a', "paid", ""), f.record('a', "", "paid")}
	runFixed(t, s, func(st *stage) {
		if len(st.suite.Model(st.stream)) == 0 {
			t.Fatal("the model leaves nothing of an item that was deleted and inserted again: it must take an Order")
		}
		w := st.worker(nil)
		st.must(w.deliver(st.ctx, st.stream.Changes[:1]))
		st.must(w.deliver(st.ctx, st.stream.Changes[1:]))
		st.must(w.flush(st.ctx))
		st.compareWithModel("delete and insert in one batch")
	}, records...)
}

// ttlDelete: an item that the TTL process removed is not in the store.
func ttlDelete(t *testing.T, s Suite) {
	f := s.fact()
	expired := f.record('c', "paid", "")
	expired.TTL = true
	records := append(f.history(), expired)
	inBatches(t, s, "a TTL delete", records)
}

// unknownOperation: if the event name of a record is undocumented, its images decide what the record means.
func unknownOperation(t *testing.T, s Suite) {
	records := s.fact().history()
	for i := range records {
		records[i].EventName = "EVOLVE"
	}
	inBatches(t, s, "records of unknown operations", records)
}
