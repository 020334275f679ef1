// Package model computes what must come out of a pipeline: from a configuration
// as plain data ([Config], which also writes itself as YAML) and the records that
// arrived, in the order of their arrival, it says what every sink holds in the end.
//
// It is the obvious program: it goes through the records one by one, remembers
// of each item what was said last, and adds up at the end, by math/big. It knows
// nothing of batches, transactions, deltas or planners, and shares no code with
// them: of the product it uses the plain Go records of sinks/sinktest alone.
// Where the product may choose, as in who holds a row that several items want, the
// model names all that may come out.
package model
