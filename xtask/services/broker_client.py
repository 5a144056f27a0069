"""Clients of brokers that share nothing with Postrider: each protocol's usual Python library.

    prepare URL TOPIC   makes a stream, queue or FIFO queue of that name
    read URL TOPIC      prints every record that it holds, one JSON object a line: key, attempt, payload

The records of one key are printed in the order in which a consumer gets them. Reading empties an AMQP or SQS queue.
"""

import json
import sys
from urllib.parse import parse_qs, urlsplit


def show(key, attempt, payload):
    print(json.dumps({"key": key, "attempt": int(attempt), "payload": payload}))


class Nats:
    # The shortest that the server takes: a broker that drops repeats would hide what is to be counted.
    DEDUPE = 0.1

    def __init__(self, url):
        self.url = url.geturl()

    def run(self, work):
        import asyncio

        import nats

        async def connected():
            client = await nats.connect(self.url)
            await work(client.jetstream())
            await client.close()

        asyncio.run(connected())

    def prepare(self, topic):
        async def work(stream):
            await stream.add_stream(name=topic, subjects=[topic], storage="file", duplicate_window=self.DEDUPE)

        self.run(work)

    def read(self, topic):
        async def work(stream):
            from nats.js.api import AckPolicy, ConsumerConfig

            left = (await stream.stream_info(topic)).state.messages
            config = ConsumerConfig(ack_policy=AckPolicy.NONE)
            reader = await stream.pull_subscribe(topic, durable="test-client", config=config)
            while left > 0:
                for message in await reader.fetch(min(left, 500), timeout=30):
                    left -= 1
                    headers = message.headers
                    show(headers["key"], headers["attempt"], message.data.decode())

        self.run(work)


class Amqp:
    def __init__(self, url):
        import pika

        self.connection = pika.BlockingConnection(pika.URLParameters(url.geturl()))
        self.channel = self.connection.channel()

    def prepare(self, topic):
        self.channel.queue_declare(topic, durable=True)
        self.connection.close()

    def read(self, topic):
        left = self.channel.queue_declare(topic, passive=True).method.message_count
        for _, properties, body in self.channel.consume(topic, auto_ack=True, inactivity_timeout=30):
            if properties is None:
                sys.exit(f"{left} messages are in the queue, and do not come")
            show(properties.headers["key"], properties.headers["attempt"], body.decode())
            left -= 1
            if left == 0:
                break
        self.connection.close()


class Kafka:
    # librdkafka's mock cluster does not answer this library's question for versions.
    VERSION = (2, 0)

    def __init__(self, url):
        self.servers = url.netloc

    def prepare(self, topic):
        from kafka.admin import KafkaAdminClient, NewTopic

        client = KafkaAdminClient(bootstrap_servers=self.servers, api_version=self.VERSION)
        client.create_topics([NewTopic(topic, 8, 1)])

    def read(self, topic):
        from kafka import KafkaConsumer, TopicPartition

        reader = KafkaConsumer(bootstrap_servers=self.servers, api_version=self.VERSION, enable_auto_commit=False, group_id=None)
        partitions = [TopicPartition(topic, number) for number in reader.partitions_for_topic(topic)]
        reader.assign(partitions)
        reader.seek_to_beginning(*partitions)
        ends = reader.end_offsets(partitions)
        while any(reader.position(partition) < ends[partition] for partition in partitions):
            for records in reader.poll(timeout_ms=30000).values():
                for record in records:
                    headers = dict(record.headers)
                    show(record.key.decode(), headers["attempt"].decode(), record.value.decode())


class Sqs:
    def __init__(self, url):
        import botocore.session

        self.client = botocore.session.get_session().create_client(
            "sqs",
            region_name=url.hostname,
            endpoint_url=parse_qs(url.query)["endpoint"][0],
            aws_access_key_id=url.username,
            aws_secret_access_key=url.password,
        )

    def prepare(self, topic):
        self.client.create_queue(QueueName=topic, Attributes={"FifoQueue": "true"})

    def read(self, topic):
        queue = self.client.get_queue_url(QueueName=topic)["QueueUrl"]
        while True:
            answer = self.client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
            messages = answer.get("Messages", [])
            if not messages:
                break
            for message in messages:
                attributes = message["MessageAttributes"]
                show(attributes["key"]["StringValue"], attributes["attempt"]["StringValue"], message["Body"])
            entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
            self.client.delete_message_batch(QueueUrl=queue, Entries=entries)


def main():
    command, url, topic = sys.argv[1:]
    url = urlsplit(url)
    client = {"nats": Nats, "amqp": Amqp, "kafka": Kafka, "sqs": Sqs}[url.scheme](url)
    {"prepare": client.prepare, "read": client.read}[command](topic)


main()
