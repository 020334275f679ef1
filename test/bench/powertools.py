"""The peer of the row powertools.

The upper half is a Lambda function as the documentation of Powertools for AWS Lambda (Python)
writes one ("Batch Processing", "Processing messages from DynamoDB"). The lower half stands for
Lambda's runtime: it reads events from standard input, and hands them to the function as often
as it is told to.
"""

import json
import math
import platform
import sys
import time
from decimal import Decimal

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord, DynamoDBRecordEventName

processor = BatchProcessor(event_type=EventType.DynamoDBStreams)


class Seen:
    """What the function saw: the store that only counts."""

    def __init__(self):
        self.changes = self.completed = self.orders = self.cents = 0

    def order(self, total):
        self.orders += 1
        if isinstance(total, Decimal):
            self.cents += math.floor(float(total) * 100 + 0.5)


seen = Seen()


def is_ttl_delete(record: DynamoDBRecord) -> bool:
    who = record.user_identity
    return (
        who.get("type") == "Service"
        and who.get("principalId") == "dynamodb.amazonaws.com"
        and record.event_name is DynamoDBRecordEventName.REMOVE
    )


def record_handler(record: DynamoDBRecord):
    """Reads attributes where it needs them, as the documentation does: by record.dynamodb.new_image."""
    if is_ttl_delete(record):
        return
    seen.changes += 1
    if record.dynamodb.new_image.get("Status") == "completed" and record.dynamodb.old_image.get("Status") != "completed":
        seen.completed += 1
    if record.dynamodb.new_image.get("Type") == "Order":
        seen.order(record.dynamodb.new_image.get("Total"))


def careful_record_handler(record: DynamoDBRecord):
    """The same by who knows that each record.dynamodb deserialises the images anew."""
    if is_ttl_delete(record):
        return
    change = record.dynamodb
    old, new = change.old_image, change.new_image
    seen.changes += 1
    if new.get("Status") == "completed" and old.get("Status") != "completed":
        seen.completed += 1
    if new.get("Type") == "Order":
        seen.order(new.get("Total"))


handle = careful_record_handler if "careful" in sys.argv else record_handler


def lambda_handler(event, context):
    return process_partial_response(event=event, record_handler=handle, processor=processor, context=context)


def passes(payloads: list[bytes], times: int) -> dict:
    """Hands all events to the function so many times; says what the last time saw, and what all took."""
    global seen
    start = time.process_time_ns()
    for _ in range(times):
        seen = Seen()
        for payload in payloads:
            answer = json.dumps(lambda_handler(json.loads(payload), None))
            if answer != '{"batchItemFailures": []}':
                raise SystemExit(f"the answer is {answer}")
    return {"nanoseconds": time.process_time_ns() - start, **vars(seen)}


def main():
    """Reads a line with the number of events, each after a line with its length; then lines with a number of passes."""
    stdin = sys.stdin.buffer
    payloads = [stdin.read(int(stdin.readline())) for _ in range(int(stdin.readline()))]
    print(json.dumps({"version": platform.python_version()}), flush=True)
    for line in stdin:
        print(json.dumps(passes(payloads, int(line))), flush=True)


if __name__ == "__main__":
    main()
