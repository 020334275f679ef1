package view

import "slices"

// With hints in its mutations, a store needs fewer writes if tombstones are apart from the rows. A wrong hint does not
// change the result.

// hintedMutations returns the mutations of the attempts. The slice is valid until the next call.
func hintedMutations(b *batch[*Op], attempts []attempt[*Op]) []Mutation {
	clear(b.mutations)
	b.mutations = b.mutations[:0]
	for _, a := range attempts {
		m := a.op.Mutation
		m.LikelyNew, m.WithPrevious = m.LikelyNew || !m.Tombstone && mayBeMissing(b, a.key), a.joined
		b.mutations = append(b.mutations, m)
	}
	return b.mutations
}

// mayBeMissing reports whether the row of key k may be missing although its newest change updates it. This is the case
// if an earlier change of the batch creates or removes the row.
func mayBeMissing(b *batch[*Op], k int) bool {
	if b.keys[k].first == b.keys[k].last {
		return false
	}
	for i := range b.pending(k) {
		if m := &b.ops[i].op.Mutation; m.LikelyNew || m.Tombstone {
			return true
		}
	}
	return false
}

// joinMoves reorders attempts so that the new and the old row of each move are next to each other, if both are
// attempts. The store then writes them in one transaction.
func joinMoves(b *batch[*Op], attempts []attempt[*Op]) []attempt[*Op] {
	if !slices.ContainsFunc(attempts, func(a attempt[*Op]) bool { return a.op.Step == MoveTo }) {
		return attempts
	}
	indexOf := make(map[int]int, len(attempts)) // indexes of attempts, by op
	for i, a := range attempts {
		indexOf[b.keys[a.key].triedOp] = i
	}
	all := make([]attempt[*Op], 0, len(attempts))
	for _, a := range attempts {
		op := b.keys[a.key].triedOp
		// planOps adds the new row before the old one.
		if before, ok := indexOf[op-1]; ok && a.op.Step == MoveFrom && b.ops[op-1].delivery == b.ops[op].delivery &&
			attempts[before].op.Step == MoveTo {
			continue // it is appended with its new row
		}
		all = append(all, a)
		if after, ok := indexOf[op+1]; ok && a.op.Step == MoveTo && b.ops[op+1].delivery == b.ops[op].delivery {
			old := attempts[after]
			old.joined = true
			all = append(all, old)
		}
	}
	return all
}
