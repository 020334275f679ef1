package view

// oneItemPerRow returns one attempt for each row: the one with the lowest version. Attempts of other items on the same
// row follow in the next rounds.
func oneItemPerRow(attempts []attempt[*Op]) []attempt[*Op] {
	oldest := make(map[string]int, len(attempts)) // index of the attempt, by row
	for i, a := range attempts {
		first, ok := oldest[a.op.rowText]
		if !ok || a.op.version().Compare(attempts[first].op.version()) < 0 {
			oldest[a.op.rowText] = i
		}
	}
	if len(oldest) == len(attempts) {
		return attempts
	}

	kept := attempts[:0]
	for i, a := range attempts {
		if oldest[a.op.rowText] == i {
			kept = append(kept, a)
		}
	}
	return kept
}

// showCollision sets the row in a CollisionError of the store to keyText. displayKey is the row's key if parts of it
// are masked; else "". If parts of it are masked, showCollision masks the keys of the items too.
func (s *Sink) showCollision(e *CollisionError, keyText, displayKey string) {
	e.Row = keyText
	if displayKey != "" {
		e.Owner, e.Source = s.maskKey(e.Owner), s.maskKey(e.Source)
	}
}
