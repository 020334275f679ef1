// Package takeover tests pipelines whose reader changes. In one test, an application of Amazon's KCL and `tablewake
// consume` work on the same lease table, one after the other. In the other test, a Lambda function hands its stream
// over to `tablewake consume`, and gets it back.
package takeover
