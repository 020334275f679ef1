import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.adapter.DynamoDBStreamsClientRecord;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.MetricsLevel;
import software.amazon.kinesis.processor.FormerStreamsLeasesDeletionStrategy.NoLeaseDeletionStrategy;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;
import software.amazon.kinesis.processor.StreamTracker;

/**
 * An application of Amazon's KCL with its adapter for DynamoDB Streams, as its users write
 * it: every setting is the library's default, but for those that an argument names.
 *
 * <p>It prints what happens as lines of JSON on stdout, and stops in order when its stdin is
 * closed. With count=true a line "0" on stdin begins a measurement, and a line with a number of
 * records has it end once so many were read. Arguments are NAME=VALUE:
 *
 * <pre>
 *   endpoint    URL of DynamoDB
 *   streams     URL of DynamoDB Streams (the endpoint)
 *   stream      ARN of the stream, or several with commas between: then in multi-stream mode
 *   application name of the application, which is its lease table's
 *   worker      name of this worker
 *   every       a checkpoint after so many records of a shard (1)
 *   page        records a read at most (1000)
 *   final       false: no checkpoint at a stop, so that what was read since the last is read again (true)
 *   quick       true: shorter waits than the library's at a start and at a change of owner (false)
 *   count       true: records are counted and not printed, with a checkpoint of each shard a second (false)
 *   idle        milliseconds between two reads of a shard (1000)
 * </pre>
 */
public final class KCLApplication {
    private static volatile boolean stopping;
    private static final Meter meter = new Meter();

    public static void main(String[] args) throws Exception {
        Map<String, String> settings = Stream.of(args).map(a -> a.split("=", 2)).collect(Collectors.toMap(a -> a[0], a -> a[1]));
        URI endpoint = URI.create(settings.get("endpoint"));
        Region region = Region.of(System.getenv("AWS_REGION"));
        int every = Integer.parseInt(settings.getOrDefault("every", "1"));
        boolean counting = Boolean.parseBoolean(settings.get("count"));

        AmazonDynamoDBStreamsAdapterClient streams = new AmazonDynamoDBStreamsAdapterClient(
                DynamoDbStreamsClient.builder().endpointOverride(URI.create(settings.getOrDefault("streams", settings.get("endpoint")))).region(region).build(), region);
        ConfigsBuilder configs = new ConfigsBuilder(
                tracker(List.of(settings.get("stream").split(","))), settings.get("application"), streams,
                DynamoDbAsyncClient.builder().endpointOverride(endpoint).region(region).build(),
                CloudWatchAsyncClient.builder().region(region).build(), // is asked for, and not used
                settings.get("worker"), () -> counting ? new Counter() : new Printer(every, !"false".equals(settings.get("final"))));
        DynamoDBStreamsPollingConfig polling = new DynamoDBStreamsPollingConfig(streams);
        polling.maxRecords(Integer.parseInt(settings.getOrDefault("page", "1000")));
        polling.idleTimeBetweenReadsInMillis(Long.parseLong(settings.getOrDefault("idle", "1000")));
        LeaseManagementConfig leases = configs.leaseManagementConfig();
        if (Boolean.parseBoolean(settings.get("quick"))) {
            leases.failoverTimeMillis(5000); // of 10 s; leases are assigned at twice this
            leases.shardSyncIntervalMillis(0); // of 60 s, which it sleeps after the first listing of a stream
        }
        Scheduler scheduler = StreamsSchedulerFactory.createScheduler(
                configs.checkpointConfig(), configs.coordinatorConfig(), leases, configs.lifecycleConfig(),
                configs.metricsConfig().metricsLevel(MetricsLevel.NONE), configs.processorConfig(),
                configs.retrievalConfig().retrievalSpecificConfig(polling), streams);

        print("started", "", "", "");
        new Thread(() -> {
            scheduler.run();
            if (!stopping) { // it could not start; its log says why
                System.exit(1);
            }
        }, "scheduler").start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) { // until stdin is closed
            meter.measure(Long.parseLong(line));
        }
        stopping = true;
        boolean clean = scheduler.startGracefulShutdown().get(60, TimeUnit.SECONDS);
        print(clean ? "stopped" : "failed", "", "", "");
        System.exit(clean ? 0 : 1); // threads of the library stay
    }

    private static StreamTracker tracker(List<String> arns) {
        InitialPositionInStreamExtended start = InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
        return arns.size() == 1
                ? StreamsSchedulerFactory.createSingleStreamTracker(arns.get(0), start)
                : StreamsSchedulerFactory.createMultiStreamTracker(arns, start, new NoLeaseDeletionStrategy());
    }

    /** One line; sequence numbers, shard ids and the tests' keys need no escapes. */
    private static synchronized void print(String event, String shard, String sequence, String key) {
        System.out.printf("{\"event\":\"%s\",\"shard\":\"%s\",\"sequence\":\"%s\",\"key\":\"%s\",\"at\":%d}%n",
                event, shard, sequence, key, System.currentTimeMillis());
        System.out.flush();
    }

    /** Prints the records of a shard and checkpoints after some of them, at the shard's end and at a stop. */
    private static final class Printer implements DynamoDBStreamsShardRecordProcessor {
        private final int every;
        private final boolean atStop;
        private String shard;
        private String last = "";
        private int since; // records after the last checkpoint

        Printer(int every, boolean atStop) {
            this.every = every;
            this.atStop = atStop;
        }

        @Override
        public void initialize(InitializationInput input) {
            shard = input.shardId();
            print("initialized", shard, input.extendedSequenceNumber().sequenceNumber(), "");
        }

        @Override
        public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
            for (DynamoDBStreamsClientRecord record : input.records()) {
                last = record.sequenceNumber();
                print("record", shard, last, record.getRecord().dynamodb().keys().get("PK").s());
                if (++since >= every) {
                    String sequence = last;
                    checkpoint(() -> input.checkpointer().checkpoint(sequence), sequence);
                    since = 0;
                }
            }
        }

        @Override
        public void leaseLost(LeaseLostInput input) {
            print("lost", shard, last, "");
        }

        @Override
        public void shardEnded(ShardEndedInput input) {
            checkpoint(input.checkpointer(), "SHARD_END");
        }

        @Override
        public void shutdownRequested(ShutdownRequestedInput input) {
            if (atStop) {
                checkpoint(input.checkpointer(), last);
            }
        }

        private void checkpoint(RecordProcessorCheckpointer checkpointer, String at) {
            checkpoint(checkpointer::checkpoint, at);
        }

        private void checkpoint(Checkpoint write, String at) {
            try {
                write.run();
                print("checkpoint", shard, at, "");
            } catch (InvalidStateException | ShutdownException e) { // the lease is another worker's by now
                print("refused", shard, at, "");
            }
        }
    }

    /** Counts the records of a shard, and checkpoints as often as a second goes by. */
    private static final class Counter implements DynamoDBStreamsShardRecordProcessor {
        private long checkpointed = System.nanoTime();

        @Override
        public void initialize(InitializationInput input) {
            print("initialized", input.shardId(), input.extendedSequenceNumber().sequenceNumber(), "");
        }

        @Override
        public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
            if (input.records().isEmpty()) {
                return;
            }
            meter.count(input.records().size());
            if (System.nanoTime() - checkpointed > TimeUnit.SECONDS.toNanos(1)) {
                checkpoint(input.checkpointer());
                checkpointed = System.nanoTime();
            }
        }

        @Override
        public void leaseLost(LeaseLostInput input) {
            print("lost", "", "", "");
        }

        @Override
        public void shardEnded(ShardEndedInput input) {
            checkpoint(input.checkpointer());
        }

        @Override
        public void shutdownRequested(ShutdownRequestedInput input) {
            checkpoint(input.checkpointer());
        }

        private void checkpoint(RecordProcessorCheckpointer checkpointer) {
            try {
                checkpointer.checkpoint();
            } catch (InvalidStateException | ShutdownException e) {
                print("refused", "", "", "");
            }
        }
    }

    /** Says how much processor time this process takes for so many records. */
    private static final class Meter {
        private static final OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        private long wanted; // 0: not known yet
        private long counted;
        private long began; // processor time then, nanoseconds

        synchronized void measure(long records) {
            wanted = records;
            if (records == 0) {
                counted = 0;
                began = process.getProcessCpuTime();
                print("measuring", "", "", "");
            }
            count(0);
        }

        synchronized void count(long records) {
            counted += records;
            if (wanted > 0 && counted >= wanted) {
                System.out.printf("{\"event\":\"measured\",\"records\":%d,\"processor\":%d}%n", counted, process.getProcessCpuTime() - began);
                System.out.flush();
                wanted = 0;
            }
        }
    }

    private interface Checkpoint {
        void run() throws InvalidStateException, ShutdownException;
    }
}
