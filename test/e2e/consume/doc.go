// Package consume runs whole processes of `tablewake consume` side by side, with leases and sinks on DynamoDB Local,
// and has them killed, frozen, cut off and restarted while a stream is written and splits. Whatever happened, their
// output must follow from the table.
package consume
