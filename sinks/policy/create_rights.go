package policy

import "github.com/tablewake/tablewake/pipeline/config"

// allowCreate adds the rights to create the resources that --create creates.
func (w *writer) allowCreate() {
	var tables []config.Table
	var buckets, queues, topics, buses []string
	for _, s := range w.cfg.Sinks {
		switch {
		case s.View != nil:
			tables = append(tables, s.View.Table)
		case s.Aggregate != nil:
			tables = append(tables, s.Aggregate.Table)
		case s.Archive != nil && s.Archive.Bucket != "":
			buckets = append(buckets, w.bucket(s.Archive.Bucket, ""))
		case s.Notify != nil && s.Notify.Queue != "":
			queues = append(queues, s.Notify.Queue)
		case s.Notify != nil && s.Notify.Topic != "":
			topics = append(topics, s.Notify.Topic)
		case s.Notify != nil && s.Notify.Bus != "":
			buses = append(buses, w.busARN(s.Notify.Bus))
		}
	}
	if w.cfg.State != nil {
		tables = append(tables, w.cfg.State.Table)
	}
	if w.cfg.Leases != nil {
		tables = append(tables, w.cfg.Leases.Table)
	}
	if d := w.cfg.DeadLetters; d != nil && d.Bucket != "" {
		buckets = append(buckets, w.bucket(d.Bucket, ""))
	}
	if d := w.cfg.DeadLetters; d != nil && d.Queue != "" {
		queues = append(queues, d.Queue)
	}

	w.allowCreateTables(tables)
	w.allow("CreateBuckets", "makes the buckets of --create", createBucketActions, buckets...)
	w.allowCreateQueues(queues)
	w.allow("CreateTopics", "makes the topics of --create", createTopicActions, topics...)
	w.allow("CreateBuses", "makes the buses of --create", createBusActions, buses...)
}

// allowCreateTables adds the rights to create the tables. A table without a name is not created.
func (w *writer) allowCreateTables(tables []config.Table) {
	var arns []string
	for _, t := range tables {
		if t.Name != "" {
			arns = append(arns, w.table(t))
		}
	}
	w.allow("CreateTables", "makes the tables of --create", createTableActions, arns...)
}

func (w *writer) allowCreateQueues(queues []string) {
	allowedActions := createQueueActions
	var arns []string
	for _, queue := range queues {
		allowedActions = w.queueActions(allowedActions, queue)
		arns = append(arns, w.queue(queue))
	}
	w.allow("CreateQueues", "makes the queues of --create", allowedActions, arns...)
}
