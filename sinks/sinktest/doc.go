// Package sinktest is the conformance suite of sinks. It tests that deliveries that come again, late, out of order
// across items, from a lagging worker, or on both sides of a crash leave the store as one clean pass would.
//
// A test gives [Run] a [Suite]: how to open the sink on a store, how to read the store back, and a model of the
// required contents. The suite makes random streams ([Streams]), delivers them as a pipeline does, and compares the
// contents of the store with the model. The model sees [Record]s, plain Go maps from the generator: it uses neither the
// decoder nor a planner.
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, sinktest.Suite{
//			Open: func(dir string) (sinktest.Store, error) { ... },
//			Model: func(s *sinktest.Stream) map[string]string {
//				state := map[string]string{}
//				for _, item := range s.Items() {
//					if item.Text("Type") == "Order" {
//						state[item.Text("PK")] = sinktest.Canonical(item)
//					}
//				}
//				return state
//			},
//		})
//	}
//
// Faults reach the store through [Faults.Call], which wraps the sink's store. It fails the calls that the suite chose,
// before, after or during their effect. A call fails once or permanently, or as a crash, after which nothing works
// until the store is opened again.
//
// The plans of a batch reuse the memory of the plans of the batch before, as in a pipeline. So the suite detects a sink
// or a store that keeps parts of a plan beyond its Write.
//
// [Suite.ByState] is for a sink that remembers each item in its store, and never reads an
// old image. After a start in mid-stream, every item that changes later must then be right.
// After a lost range, an item must be right from its next change on. Items may pass their
// states on in any order. If several items request one row, the order of arrival must not
// decide which of them gets it. [Suite.Refused] recognizes the error that the sink returns
// for the others.
//
// [RunQuarantine] is the suite of dead letters and of the marks of quarantined keys.
package sinktest
