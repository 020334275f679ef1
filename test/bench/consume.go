package main

import "context"

// consumeRows measure reading the stream of a fast server. The server and each reader are processes of their own. Ours
// is the built program with a sink that keeps nothing. The peers are a loop of the SDK and an application of Amazon's
// KCL. The compared figure is records for each second of processor time. For ours and the loop it is measured on one
// core, over the whole life of the process. For the KCL it is measured on as many cores as the JVM takes, over a round,
// once the JVM is warm.
func consumeRows() []row {
	const (
		ours  = "`tablewake consume`: a stream of 4 shards in pages of 1 MB, no filter, one sink, which discards"
		kcl   = "KCL 3.1 with dynamodb-streams-kinesis-adapter 2.0"
		notes = "all are processes, and so is the server, which answers over HTTP from pages that are encoded before"
	)
	return []row{
		{
			id: "consume", work: ours, peer: "GetRecords of aws-sdk-go-v2 in a loop",
			of: rate, least: 4, input: true, rounds: 5, open: openConsume,
			note: notes + "; ours with its start, its leases and its end; the loop is one for each shard",
		},
		{
			id: "kcl", work: ours, peer: kcl,
			of: rate, least: 18, input: true, rounds: 5, open: openKCL,
			note: notes + "; the application counts records, is warm before it is measured, and reads without a pause; ours with its start, its leases and its end",
		},
		{
			id: "kcl-memory", work: "the same: memory that is resident, at the most", peer: kcl,
			of: memory, most: 0.1, input: true, rounds: 1, open: openKCL,
			note: "the JVM has its default heap, as far as a quarter of the machine's memory",
		},
	}
}

func openConsume(ctx context.Context, b *bench) (*contest, error) {
	err := b.readers.start(ctx, b)
	return &contest{ours: side{run: b.readers.consume}, peer: side{run: b.readers.loop}}, err
}

func openKCL(ctx context.Context, b *bench) (*contest, error) {
	err := b.readers.start(ctx, b)
	if err == nil {
		err = b.readers.startApplication(ctx)
	}
	return &contest{ours: side{run: b.readers.consume}, peer: side{run: b.readers.application.round}}, err
}
