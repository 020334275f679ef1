// Package sinktest is the conformance suite of sinks. A clean pass delivers each change once, in order. The suite tests
// that other deliveries leave the store as a clean pass would. It delivers changes again, late, out of order across
// items, from a lagging worker, and before and after a crash.
//
// A test gives [Run] a [Suite] with three things: how to open the sink on a store, how to read the store back, and a
// model. The model is a function that returns the required contents. The suite makes random streams ([Streams]),
// delivers them as a pipeline does, and compares the contents of the store with the model. The model gets [Record]s,
// which are plain Go maps from the generator. So it depends neither on the decoder nor on a planner.
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
// The test wraps each call of the sink's store in [Faults.Call], so that the suite can make calls fail. A call fails
// before, after or during its effect. There are three kinds of faults. A transient fault fails one call. A permanent
// fault refuses one call. After a crash no call works until the store is opened again.
//
// As in a pipeline, the plans of a batch reuse the memory of the preceding batch. So the suite detects a sink or a
// store that keeps parts of a plan beyond its Write.
//
// [Suite.ByState] is for a sink that remembers each item in its store, and never reads an old image. The suite then
// tests more. After a start in mid-stream, every item that changes later must be correct. After a range of records was
// lost, an item must be correct from its next change on. If an item takes the row that another item leaves, the two
// changes may come in any order. If several items request one row, the order of arrival must not decide which item gets
// the row. For the other items the sink may return an error; [Suite.Refused] recognizes it.
//
// [RunQuarantine] is the suite of dead letters and of the marks of quarantined keys.
package sinktest
