// Package handlers runs a pipeline as an AWS Lambda function. A handler receives an event of Lambda, delivers its
// records, and returns an answer that names the records that Lambda must bring again.
//
//	handlers.TuneGC(os.LookupEnv)
//	lambda.Start(handlers.DynamoDB(p))
//
// A handler flushes all records of the event before it answers, and answers before the function's time is over. When
// only a reserve is left before the deadline of the invocation's context, the handler starts no more Writes
// ([WithReserve]). When only a smaller margin is left, it cancels the Writes in flight ([WithMargin]). The answer then
// names the earliest record that is not finished. Lambda brings this record and all later records again.
//
// The event source mapping must have FunctionResponseTypes: [ReportBatchItemFailures]. Otherwise Lambda ignores the
// names in an answer, and treats all records as delivered.
//
// handler.handleEvent (handler.go) decodes the event and calls handler.deliverRecords, which runs the pipeline over the
// records (invocation_run.go) and names the earliest record that is not finished (firstUnfinished in event_records.go).
// invocation_deadline.go says when the run must stop, and invocation_answer.go writes the answer.
// discarded_batch_handler.go receives the messages of [OnFailure], and discarded_records.go reads the records again
// that Lambda discarded. Read these files in this order.
//
// # Answers
//
//	event                                    | answer
//	-----------------------------------------|------------------------------------------------------
//	no record, or every record is delivered, | {"batchItemFailures":[]}
//	filtered or in dead letters              |
//	some records are not finished: a sink is | {"batchItemFailures":[{"itemIdentifier":"SEQUENCE"}]}
//	down, or the time is over                | of the earliest record that is not finished
//	the time is over, and no record is       | an error, so that the event comes again in halves; an answer that
//	finished                                 | names the first record would bring the same event again, forever
//	a record that cannot be decoded          | the record goes to dead letters and counts as finished; without
//	                                         | dead letters neither it nor a later record is finished
//	the earliest unfinished record has no    | an error: Lambda brings the whole event again
//	sequence number                          |
//	the JSON is broken                       | an error with the position; no record is delivered
//	an error marked with pipeline.Fatal      | an error
//	a sink or a store never returns          | the first time as if the time is over; then an error after which
//	                                         | lambda.Start ends the process
//	an event of a tumbling window            | as above, and the "state" of the event
//	an event of another service, or made     | an error that names the kind of the event
//	by hand                                  |
//	messages of SQS ([OnFailure])            | {"batchItemFailures":[{"itemIdentifier":"MESSAGE"}, ...]}
//	                                         | of each message that is not finished
//	{"tablewake":"redrive"}                  | {} once the dead letters of an outage are redriven, or an error
//
// After an error Lambda brings the whole event again. If the mapping has BisectBatchOnFunctionError, Lambda splits it
// in halves. After an answer that names the first record, Lambda does not split the event, because it splits only at
// the named record.
//
// # A Write that never returns
//
// If a Write continues after its context is done, the handler abandons it. The answer does not wait for the Write, but
// the next invocation does. If the Write does not end during the next invocation either, the process cannot deliver any
// more. The next invocation then fails with an error that makes lambda.Start end the process
// (messages.InvokeResponse_Error with ShouldExit). Lambda brings the event to a new process. A handler that wraps a
// handler of this package must return this error unchanged.
//
// # Tumbling windows
//
// A mapping with a tumbling window sends a state with each event. The handler does not need this state, and returns it
// unchanged. The state table has the contribution of each item to an aggregate. So a record counts once, even if it
// comes again, late, or in another window. A sum in a window's state would count a repeated record twice, and would be
// lost with the window. The event of a tumbling window names a shard, which is the partition of its records.
//
// # Kinesis
//
// Kinesis Data Streams for DynamoDB may repeat records and may change their order ([Kinesis]). Within one event the
// handler sorts records by their creation time and drops repeated records. In sinks that compare versions, an older
// change of another event has no effect.
package handlers
