package pipeline

import "context"

// Quarantine remembers, for every process that runs the pipeline, which keys of
// which sink have changes in dead letters that later ones must not overtake.
//
// Before a Write the pipeline asks for the keys of its batch; what is held goes to
// dead letters, with the outcome Quarantined. The order of steps is always: the
// letter is durable, the key is held, the change is acknowledged.
type Quarantine interface {
	// Held tells of each key whether it is held for the sink. It sees what any
	// process held before the call. The pipeline calls it before every Write, so it
	// must be cheap where nothing is held.
	Held(ctx context.Context, sink string, keys []Key) ([]bool, error)

	// Hold notes that one letter more was put behind each of keys (a key may stand in
	// it several times), and blocks until that is durable. A key that was let go
	// meanwhile is held again.
	Hold(ctx context.Context, sink string, keys []Key) error
}
