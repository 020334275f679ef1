// Package handlers runs a pipeline as an AWS Lambda function: it takes the events of
// Lambda, delivers what they hold, and answers which records Lambda has to bring again.
//
//	handlers.CollectLess(os.LookupEnv)
//	lambda.Start(handlers.DynamoDB(p))
//
// A handler flushes all that it was given before it answers, and answers before the
// function's time is over: some time before the deadline of the context it starts nothing
// new ([WithReserve]), and a little later it cancels the Writes under way ([WithMargin]).
// What is finished by then counts: the answer names the earliest record that is not, and
// Lambda brings that one and all behind it again.
//
// The event source mapping must have FunctionResponseTypes: [ReportBatchItemFailures].
// Without it Lambda ignores what an answer names, and the records count as delivered.
//
// # What is answered
//
//	event                                    | answer
//	-----------------------------------------|------------------------------------------------------
//	all is delivered, filtered or in dead    | {"batchItemFailures":[]}
//	letters; or there is no record           |
//	some is not: a sink is down, the time is | {"batchItemFailures":[{"itemIdentifier":"SEQUENCE"}]}
//	over                                     | of the earliest record that is not finished
//	the time is over, and none is finished   | an error: what takes longer than the function's time would
//	                                         | come again as it is for ever; failed, it comes in halves
//	a record that cannot be decoded          | it goes to dead letters, and counts as finished; while there
//	                                         | are none, it is not, nor is what stands behind it
//	that one is the earliest unfinished, and | an error: Lambda brings the whole batch again
//	shows no sequence number                 |
//	the JSON is broken                       | an error, with the place; nothing of it is delivered
//	an error marked with pipeline.Fatal      | an error
//	a sink or a store never returns          | as where the time is over, once; then an error, and lambda.Start
//	                                         | ends the process
//	of a tumbling window                     | as above, and "state" as it came
//	of another kind: by hand, of another     | an error that says of what kind it is
//	service                                  |
//	messages of SQS ([Redrive])              | {"batchItemFailures":[{"itemIdentifier":"MESSAGE"}, ...]}
//	                                         | of each message that is not done with
//	{"tablewake":"redrive"}                  | {} once the letters of an outage are redriven, or an error
//
// An error has Lambda bring the whole event again, in halves where the mapping has
// BisectBatchOnFunctionError. (An answer that names the first record does not: Lambda parts a
// batch before the record that is named.)
//
// # What never returns
//
// A Write that goes on though its context is done is left alone: the answer does not wait for it,
// and the next invocation does. Where that one has waited for all of its time, the process is of no use any
// more. The invocation fails with the error by which lambda.Start ends the process
// (messages.InvokeResponse_Error with ShouldExit), so that Lambda brings the event to a fresh
// one. A handler that wraps this one has to hand that error on as it is.
//
// # Tumbling windows
//
// A mapping with a tumbling window sends a state along. It is handed on as it is: nothing
// here needs it. Aggregates are kept in the state table, where each item's contribution is
// known, so that a record which comes again, or late, or in another window, counts once; a sum
// that lived in a window's state would count it twice, and would be lost with the window.
// The shard that such an event names is the partition of its records.
//
// # Kinesis
//
// Records of Kinesis Data Streams for DynamoDB may repeat and may come in another order
// than the changes ([Kinesis]). Within an event they are put into the order of their creation, and
// repeated ones are left out; across events versions decide, in sinks that have them.
package handlers
