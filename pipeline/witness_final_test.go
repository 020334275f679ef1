package pipeline

import "errors"

// final checks the ledgers against what the sinks saw.
func (w *witness) final(p plan, l Ledger, runErr error) {
	if err := l.Check(); err != nil {
		w.errorf("%v", err)
	}
	stop, hard := errors.AsType[*StopError](runErr)
	if runErr != nil && !hard || hard && p.stop == 0 {
		w.errorf("Run returned %v", runErr)
	}
	var pending int64
	for _, s := range w.sinks {
		k := l.Sinks[s.name]
		pending += k.Pending
		var given, written, letters int64
		for _, pages := range w.pages {
			for _, page := range pages {
				for _, id := range page {
					c := change(id[:2], 0)
					c.Sequence = id[2:]
					switch {
					case !s.wants(&c):
					case s.gaveUp[id]:
						letters++
						given++
					case s.durable[id] > 0:
						written++
						given++
					default:
						given++
					}
				}
			}
		}
		if len(p.revokes) > 0 {
			w.finalRevoked(s, k, hard || p.stop > 0)
			continue
		}
		// After a hard stop the ledger lacks the pages that no sink received. Changes that became durable during the stop may
		// still count as pending.
		if !hard && (k.Routed != given || k.Written != written || k.DeadLettered+k.Quarantined != letters || k.Quarantined != s.quarantined || k.Pending != 0) {
			w.errorf("%s: the ledger says %+v; given %d, written %d, letters %d", s.name, k, given, written, letters)
		}
		if hard && (k.Routed > given || k.Written > written || k.DeadLettered+k.Quarantined > letters) {
			w.errorf("%s: after a hard stop the ledger says %+v; given %d, written %d, letters %d", s.name, k, given, written, letters)
		}
	}
	if hard && stop.Pending != pending {
		w.errorf("the error says %d pending, the ledger %d", stop.Pending, pending)
	}
	if !hard && len(p.revokes) == 0 {
		for partition, pages := range w.pages {
			if len(pages) > 0 && w.commit[partition] != len(pages) {
				w.errorf("%s: committed %d of %d pages", partition, w.commit[partition], len(pages))
			}
		}
	}
}
