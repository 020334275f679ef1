// Package sinktest is the conformance suite of sinks: what a sink must hold to
// so that deliveries which come again, late, out of order across items, from a
// worker that lags, or on both sides of a crash leave its store as one clean
// pass would.
//
// A test gives [Run] a [Suite]: how to open the sink on a store, how to read the
// store back, and a model of what must come out. The suite makes random streams
// ([Streams]), delivers them as a pipeline does, and compares what the store holds
// with what the model says. The model sees [Record]s, plain Go maps that the
// generator made: neither the decoder nor a planner has a hand in it.
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
// Faults reach the store through [Faults.Call], which the sink's store is
// wrapped with: it fails the calls that the suite chose, before, after or in the
// midst of their effect, once or for good, or as a crash after which nothing works
// until the store is opened anew.
//
// What a sink plans for a batch lies where it planned for the batch before, as it does in a
// pipeline: so a sink or a store that keeps some of it beyond its Write is found out.
//
// A sink that keeps what it knows of each item in its store, and never reads an old
// image, sets [Suite.ByState]: a start in mid-stream must then leave every item right
// that changes later, a lost range must heal at an item's next change, and items
// may pass their states on in any order. Where several items ask for one place, which of
// them has it is not the order's to say, and [Suite.Refused] stands for the error that the
// sink gives to the others.
//
// [RunQuarantine] is the suite of dead letters and of the marks of quarantined keys.
package sinktest
