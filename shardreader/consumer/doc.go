// Package consumer reads DynamoDB Streams for a long-lived process, beside any
// number of others.
//
// A [Consumer] is the source of a [pipeline.Pipeline]: it does what a
// [worker.Worker] decides. Calls of the stream and of the lease table run in
// goroutines of their own, each with a timeout; what they bring goes to the worker, one
// event at a time; pages wait in a queue, bounded in bytes, until the pipeline takes them. The
// worker is told what the pipeline acknowledges, and has it give up what it may not
// write any more.
//
// # Stopping
//
// A consumer is given to one [pipeline.Pipeline.Run], as source and as committer,
// and closed behind it:
//
//	err = p.Run(ctx, c, c)
//	err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
//
// As soon as the pipeline stops reading (ctx is done, Stop was called, a stage failed) the
// consumer stops polling; it goes on telling the others that it lives, writes checkpoints,
// and lets each lease go when what was read of it is durable. When Run has returned, nothing
// more can become durable: what is left is let go as it is. [Consumer.Close] waits until
// that is done, so after a soft stop whoever takes the leases repeats nothing. A hard stop is [pipeline.Pipeline.Stop]
// with a context that ends: leases are let go too, at what is durable.
package consumer
