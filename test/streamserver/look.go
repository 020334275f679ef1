package main

import "encoding/json"

func (a *admin) stats() any {
	a.mu.Lock()
	running := a.running
	a.mu.Unlock()
	stream, streams := "", []string{}
	if st := a.table.Stream(); st != nil {
		stream = st.ARN()
	}
	for _, st := range a.server.Streams() {
		streams = append(streams, st.ARN())
	}
	calls, peak := map[string]int{}, map[string]int{}
	for _, op := range ops {
		calls[op], peak[op] = a.server.Calls(op), a.server.Peak(op)
	}
	readers, _ := a.server.MostReaders()
	return map[string]any{
		"table": a.table.Name(), "stream": stream, "streams": streams,
		"records": a.writes.records.Load(), "items": len(a.table.Items()), "running": running,
		"calls": calls, "peak": peak, "readers": readers,
	}
}

func (a *admin) items() any {
	items := []json.RawMessage{}
	for _, item := range a.table.Items() {
		items = append(items, json.RawMessage(item))
	}
	return items
}

func (a *admin) shards() any {
	shards := []map[string]any{}
	for _, st := range a.server.Streams() {
		for _, s := range st.States() {
			shards = append(shards, map[string]any{
				"stream": st.ARN(), "id": s.ID, "parent": s.Parent, "first": s.First, "last": s.Last,
				"records": s.Records, "trimmed": s.Trimmed, "oldest": s.Oldest, "newest": s.Newest, "written": s.Written,
			})
		}
	}
	return shards
}
