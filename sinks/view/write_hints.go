package view

import "slices"

// If tombstones are apart from the rows, hints in the mutations let the store make fewer writes. A wrong hint does not
// change the result.

// hintedMutations returns the mutations of the attempts. The slice is valid until the next call.
func hintedMutations(b *batch[*Op], attempts []attempt[*Op]) []Mutation {
	clear(b.mutations)
	b.mutations = b.mutations[:0]
	for _, a := range attempts {
		m := a.op.Mutation
		m.LikelyNew = m.LikelyNew || !m.Tombstone && mayBeMissing(b, a.key)
		m.EndsMove = a.endsMove
		b.mutations = append(b.mutations, m)
	}
	return b.mutations
}

// mayBeMissing reports whether the row of key k may be missing although its newest change updates it. This is the case
// if an earlier change of the batch creates or removes the row.
func mayBeMissing(b *batch[*Op], k int) bool {
	for i := range b.pending(k) {
		if m := &b.ops[i].op.Mutation; m.LikelyNew || m.Tombstone {
			return true
		}
	}
	return false
}

// joinMoves reorders attempts. If both the new row and the old row of a move are attempts, the old row then follows the
// new row, and the store writes both in one transaction.
func joinMoves(b *batch[*Op], attempts []attempt[*Op]) []attempt[*Op] {
	if !slices.ContainsFunc(attempts, func(a attempt[*Op]) bool { return a.op.Step == MoveTo }) {
		return attempts
	}

	newRows := make(map[int]bool)         // whether the new row of a move is an attempt, by delivery
	oldRows := make(map[int]attempt[*Op]) // attempts on the old rows of moves, by delivery
	for _, a := range attempts {
		switch delivery := b.deliveryOf(a); a.op.Step {
		case MoveTo:
			newRows[delivery] = true
		case MoveFrom:
			oldRows[delivery] = a
		}
	}

	joined := make([]attempt[*Op], 0, len(attempts))
	for _, a := range attempts {
		delivery := b.deliveryOf(a)
		if a.op.Step == MoveFrom && newRows[delivery] {
			continue // it follows its new row
		}
		joined = append(joined, a)
		if oldRow, ok := oldRows[delivery]; ok && a.op.Step == MoveTo {
			oldRow.endsMove = true
			joined = append(joined, oldRow)
		}
	}
	return joined
}
