#!/bin/sh
# Starts Kafka as the official image does: its wrapper turns KAFKA_* variables into
# server.properties and formats the storage on the first start.
set -e
flags="${KAFKA_HEAP_OPTS:--Xmx256m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
java $flags -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper setup \
    --default-configs-dir /etc/kafka/docker \
    --mounted-configs-dir /mnt/shared/config \
    --final-configs-dir /opt/kafka/config > /tmp/setup.log 2>&1 \
    || grep -qi 'already formatted' /tmp/setup.log || { cat /tmp/setup.log; exit 1; }
exec java $flags -Dlog4j2.configurationFile=/etc/kafka/docker/log4j2.yaml \
    -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
