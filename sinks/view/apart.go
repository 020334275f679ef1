package view

import "slices"

// What a store is given to write less where tombstones are apart. Both are guesses: what is
// written is right without them.

// mutationsOf is what turns write, until the next call.
func mutationsOf(b *batch[*Op], turns []turn[*Op]) []Mutation {
	clear(b.mutations)
	b.mutations = b.mutations[:0]
	for _, t := range turns {
		m := t.op.Mutation
		m.Fresh, m.Joined = m.Fresh || !m.Tombstone && fresh(b, t.line), t.joined
		b.mutations = append(b.mutations, m)
	}
	return b.mutations
}

// fresh reports whether a line's row may be missing though its newest change finds it there:
// an earlier change of the batch makes the row, or takes it away.
func fresh(b *batch[*Op], l int) bool {
	if b.lines[l].first == b.lines[l].last {
		return false
	}
	for i := range b.pending(l) {
		if m := &b.ops[i].op.Mutation; m.Fresh || m.Tombstone {
			return true
		}
	}
	return false
}

// paired puts the new row and the old row of a change that moves side by side, where both
// are to be written: a store writes them in one transaction.
func paired(b *batch[*Op], turns []turn[*Op]) []turn[*Op] {
	if !slices.ContainsFunc(turns, func(t turn[*Op]) bool { return t.op.Step == MoveTo }) {
		return turns
	}
	at := make(map[int]int, len(turns)) // indexes of turns, by their op
	for i, t := range turns {
		at[b.lines[t.line].best] = i
	}
	all := make([]turn[*Op], 0, len(turns))
	for _, t := range turns {
		op := b.lines[t.line].best
		// The plan of a move is the new row, then the old one.
		if before, ok := at[op-1]; ok && t.op.Step == MoveFrom && b.ops[op-1].delivery == b.ops[op].delivery && turns[before].op.Step == MoveTo {
			continue // it was appended with its new row, or will be
		}
		all = append(all, t)
		if behind, ok := at[op+1]; ok && t.op.Step == MoveTo && b.ops[op+1].delivery == b.ops[op].delivery {
			old := turns[behind]
			old.joined = true
			all = append(all, old)
		}
	}
	return all
}
