package sinktest

import "testing"

// item is an item of the suite's vocabulary that every condition on Type alone
// either takes or leaves. Its key is as Build expects.
func item(pk, status string) Item {
	return Item{
		"PK": {"S": pk}, "SK": {"S": "1"}, "Type": {"S": "Order"}, "Status": {"S": status},
		"Rank": {"N": "1"}, "CreatedAt": {"S": "2026-01-02T23:59:59Z"}, "Total": {"N": "10.5"}, "Any": {"S": "x"},
	}
}

// history is what happens to three items: one moves and moves back, one goes and
// comes again, one is left alone.
func history() []Record {
	return []Record{
		{EventName: "INSERT", New: item("a", "paid"), Second: epoch},
		{EventName: "INSERT", New: item("b", "paid"), Second: epoch},
		{EventName: "INSERT", New: item("c", "paid"), Second: epoch},
		{EventName: "MODIFY", Old: item("a", "paid"), New: item("a", "shipped"), Second: epoch},
		{EventName: "REMOVE", Old: item("b", "paid"), Second: epoch},
		{EventName: "MODIFY", Old: item("a", "shipped"), New: item("a", "paid"), Second: epoch},
		{EventName: "INSERT", New: item("b", "shipped"), Second: epoch},
	}
}

// inBatches delivers the whole stream cut at every length, each into a fresh store.
func inBatches(t *testing.T, s Suite, after string, records []Record) {
	for n := 1; n <= len(records); n++ {
		fixed(t, s, func(st *stage) {
			st.must(st.worker(nil).all(st, st.stream.Changes, n))
			st.want(after)
		}, records...)
	}
}

// Fact 1: sequence numbers are 21 to 40 decimal digits; compare numerically,
// never as text, never as int64.
func sequencesAreNumbers(t *testing.T, s Suite) {
	records := history()
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
	fixed(t, s, func(st *stage) {
		st.must(st.worker(nil).all(st, st.stream.Changes, 1))
		for i := range st.stream.Changes {
			st.must(st.worker(nil).all(st, st.stream.Changes[i:], 1))
			st.want("a replay of changes with shorter sequence numbers")
		}
	}, records...)
}

// Fact 19: a store that forgets deleted versions lets a late old write resurrect
// what was deleted.
func lateWriteAfterDelete(t *testing.T, s Suite) {
	records := []Record{
		{EventName: "INSERT", New: item("a", "paid"), Second: epoch},
		{EventName: "MODIFY", Old: item("a", "paid"), New: item("a", "shipped"), Second: epoch},
		{EventName: "REMOVE", Old: item("a", "shipped"), Second: epoch + 1},
	}
	fixed(t, s, func(st *stage) {
		st.must(st.worker(nil).all(st, st.stream.Changes, 1))
		st.close(st.store.Close)
		st.open()
		late := st.worker(nil)
		st.must(late.deliver(st.ctx, st.stream.Changes[:1]))
		st.must(late.deliver(st.ctx, st.stream.Changes[:2]))
		st.must(late.flush(st.ctx))
		st.want("old writes came after the delete")
	}, records...)
}

// Fact 20: a version made of second and counter restarts at 0 after a restart, so
// a newer write of the same second can lose.
func oneSecond(t *testing.T, s Suite) {
	records := history()
	for n := range records {
		fixed(t, s, func(st *stage) {
			st.must(st.worker(nil).all(st, st.stream.Changes[:n], 1))
			st.crash()
			st.must(st.worker(nil).all(st, st.stream.Changes[n:], 1))
			st.want("changes of one second, with a restart among them")
		}, records...)
	}
}

// Fact 21: delete then re-insert of one key in one batch must end with it present.
func deleteThenInsert(t *testing.T, s Suite) {
	records := []Record{
		{EventName: "INSERT", New: item("a", "paid"), Second: epoch},
		{EventName: "REMOVE", Old: item("a", "paid"), Second: epoch},
		{EventName: "INSERT", New: item("a", "paid"), Second: epoch},
	}
	fixed(t, s, func(st *stage) {
		if len(st.suite.Model(st.stream)) == 0 {
			t.Fatal("the model leaves nothing of an item that was deleted and inserted again: it must take an Order")
		}
		w := st.worker(nil)
		st.must(w.deliver(st.ctx, st.stream.Changes[:1]))
		st.must(w.deliver(st.ctx, st.stream.Changes[1:]))
		st.must(w.flush(st.ctx))
		st.want("delete and insert in one batch")
	}, records...)
}

// ttlDelete: an item that the TTL process removed is gone.
func ttlDelete(t *testing.T, s Suite) {
	records := history()
	records = append(records, Record{EventName: "REMOVE", Old: item("c", "paid"), TTL: true, Second: epoch + 9})
	inBatches(t, s, "a TTL delete", records)
}

// unknownOperation: an event name that no documentation knows means what its
// images say.
func unknownOperation(t *testing.T, s Suite) {
	records := history()
	for i := range records {
		records[i].EventName = "EVOLVE"
	}
	inBatches(t, s, "records of unknown operations", records)
}
