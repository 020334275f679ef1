package template

import "path/filepath"

// alarm is an alarm of a template. It fires if the metric is above the threshold.
type alarm struct {
	ID          string
	Function    string // for a metric of Lambda: the logical id of the function
	Queue       string // for a metric of SQS: the logical id of the queue
	Metric      string // without Function and Queue: a metric of the pipeline
	UseMaximum  bool   // compare the maximum of a period, not the sum
	Period      int    // seconds; 0: 300
	Periods     int
	Threshold   int
	Parameter   string // parameter with the threshold; "": use Threshold
	Audit       bool   // the alarm exists only if a function audits
	Missing     bool   // the alarm fires if the metric is below 1 or missing for Periods days
	OneShot     bool   // the alarm reports an event, so its end does not mean that the problem is solved
	Description string
}

// Namespace returns the namespace of the metric.
func (a alarm) Namespace() string {
	switch {
	case a.Function != "":
		return "AWS/Lambda"
	case a.Queue != "":
		return "AWS/SQS"
	}
	return "tablewake"
}

// Statistic returns the statistic of the metric.
func (a alarm) Statistic() string {
	if a.UseMaximum || a.Missing {
		return "Maximum"
	}
	return "Sum"
}

// Seconds returns the length of a period.
func (a alarm) Seconds() int {
	switch {
	case a.Missing:
		return 86400
	case a.Period > 0:
		return a.Period
	}
	return 300
}

// Alarms returns the alarms of the template. The alarms of an audit, if there is one, are last.
func (t functionTemplate) Alarms() []alarm {
	const hour = 60 * 60 * 1000 // in milliseconds, the unit of IteratorAge
	all := []alarm{
		{ID: "IteratorAge", Function: "Function", Metric: "IteratorAge", UseMaximum: true, Period: 60, Periods: 5,
			Parameter:   "IteratorAgeAlarm",
			Description: "The function is behind the table. After 24 hours the stream drops what is not delivered. Look at errors, throttles and the sinks' lag; raise ParallelizationFactor if they are healthy."},
		{ID: "NearlyLost", Function: "Function", Metric: "IteratorAge", UseMaximum: true, Period: 60, Periods: 5,
			Threshold:   20 * hour,
			Description: "The function is 20 hours behind the table, and after 24 the stream drops what is not delivered, without a message. Fix the sink, or remove what the log names, within four hours."},
		{ID: "Errors", Function: "Function", Metric: "Errors", Periods: 3,
			Description: "Invocations fail as a whole, so that batches come again and again. The log says why; a crash is halved until the record that causes it stands alone."},
		{ID: "Throttles", Function: "Function", Metric: "Throttles", Periods: 3,
			Description: "The account has no concurrency left for the function, and it falls behind."},
		{ID: "NotKept", Function: "Function", Metric: "DestinationDeliveryFailures", Periods: 1, OneShot: true,
			Description: "Lambda gave up records and could not write them into the bucket FailedBatches: they are nowhere else once the stream drops them. Look at the role's rights on the bucket and the key; the function's log names the records that failed."},
		{ID: "RedriveErrors", Function: "Redrive", Metric: "Errors", Periods: 3,
			Description: "What Lambda gave up, or dead letters, cannot be brought back. The log says why."},
		{ID: "DeadLetters", Metric: "tablewake.sink.letters", Periods: 1, OneShot: true,
			Description: "Changes could not be delivered and are in dead letters. Look with `tablewake redrive --live --list`, fix the cause, then redrive."},
		{ID: "Returned", Metric: "tablewake.handler.returned", Periods: 6,
			Description: "For half an hour records have been given back to come again: a sink does not answer, or the function's time is too short. The log names the sink."},
		{ID: "Lost", Metric: "tablewake.handler.lost", Periods: 1, OneShot: true,
			Description: "Lambda gave up batches by a limit that you set, and neither the bucket nor the stream has their records. `tablewake status --live` lists the gaps, and `tablewake gaps --live --repair --audit` repairs the sinks."},
		{ID: "RedriveFailed", Queue: "RedriveFailures", Metric: "ApproximateNumberOfMessagesVisible", UseMaximum: true,
			Periods:     1,
			Description: "Batches that Lambda gave up could not be brought back. They are in the bucket FailedBatches; fix what the function's log says, and start the redrive of the queue RedriveFailures."},
		// The threshold is below an hour, because after an hour a message is received for the third time, and SQS no
		// longer counts that message in this metric.
		{ID: "RedriveLate", Queue: "RedriveQueue", Metric: "ApproximateAgeOfOldestMessage", UseMaximum: true, Periods: 1,
			Threshold:   2700,
			Description: "Batches that Lambda gave up wait for 45 minutes to be brought back. The log of Redrive says why; what fails four times goes to the queue RedriveFailures, and the bucket FailedBatches keeps it for 90 days."},
	}
	if t.Audited() {
		all = append(all,
			alarm{ID: "SinksDiffer", Metric: "tablewake.audit.differences", Periods: 1, Audit: true, OneShot: true,
				Description: "A sample of the table differs from the sinks. The log of Audit lists the entries; `tablewake audit --live` compares everything, and repairs it with --repair."},
			alarm{ID: "NotAudited", Metric: "tablewake.audit.complete", Periods: 2, Audit: true, Missing: true,
				Description: "No audit was complete for two days. The log of Audit says why: it failed, its time was over, or entries could not be compared. Choose a smaller sample or more read units."},
		)
	}
	return all
}

// ConfigBase returns the name of the configuration file in the layer.
func (t functionTemplate) ConfigBase() string { return filepath.Base(t.Config.File) }

// ConfigFolder returns the folder of the configuration file, which becomes the layer.
func (t functionTemplate) ConfigFolder() string { return filepath.ToSlash(filepath.Dir(t.Config.File)) }
