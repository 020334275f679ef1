// Package consume runs several processes of `tablewake consume` side by side, with leases and sinks on DynamoDB Local.
// The tests kill, freeze, cut off and restart the processes while a stream is written and splits. In each case the
// contents of the sinks must follow from the table.
package consume
