"""Written by engine.wire.stubs from engine/wire/schemas; do not edit."""

from collections.abc import Sequence

from engine.wire.structures import Message, RequestMessage, Structure

__all__ = ["Message", "RequestMessage", "Structure"]


class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0


class AddOffsetsToTxnRequest(RequestMessage[AddOffsetsToTxnResponse]):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""


class AddPartitionsToTxnResponse(Message):
    class AddPartitionsToTxnResult(Structure):
        transactional_id: str = ""
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = ...

    class AddPartitionsToTxnTopicResult(Structure):
        name: str = ""
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = ...

    class AddPartitionsToTxnPartitionResult(Structure):
        partition_index: int = 0
        partition_error_code: int = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = ...
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = ...


class AddPartitionsToTxnRequest(RequestMessage[AddPartitionsToTxnResponse]):
    class AddPartitionsToTxnTransaction(Structure):
        transactional_id: str = ""
        producer_id: int = 0
        producer_epoch: int = 0
        verify_only: bool = False
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = ...

    class AddPartitionsToTxnTopic(Structure):
        name: str = ""
        partitions: Sequence[int] = ...

    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = ...
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = ...


class AddRaftVoterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


class AddRaftVoterRequest(RequestMessage[AddRaftVoterResponse]):
    class Listener(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ...
    listeners: list[AddRaftVoterRequest.Listener] = ...
    ack_when_committed: bool = True


class AllocateProducerIdsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id_start: int = 0
    producer_id_len: int = 0


class AllocateProducerIdsRequest(RequestMessage[AllocateProducerIdsResponse]):
    broker_id: int = 0
    broker_epoch: int = -1


class AlterClientQuotasResponse(Message):
    class EntryData(Structure):
        error_code: int = 0
        error_message: str | None = ""
        entity: list[AlterClientQuotasResponse.EntityData] = ...

    class EntityData(Structure):
        entity_type: str = ""
        entity_name: str | None = ""

    throttle_time_ms: int = 0
    entries: list[AlterClientQuotasResponse.EntryData] = ...


class AlterClientQuotasRequest(RequestMessage[AlterClientQuotasResponse]):
    class EntryData(Structure):
        entity: list[AlterClientQuotasRequest.EntityData] = ...
        ops: list[AlterClientQuotasRequest.OpData] = ...

    class EntityData(Structure):
        entity_type: str = ""
        entity_name: str | None = ""

    class OpData(Structure):
        key: str = ""
        value: float = 0.0
        remove: bool = False

    entries: list[AlterClientQuotasRequest.EntryData] = ...
    validate_only: bool = False


class AlterConfigsResponse(Message):
    class AlterConfigsResourceResponse(Structure):
        error_code: int = 0
        error_message: str | None = ""
        resource_type: int = 0
        resource_name: str = ""

    throttle_time_ms: int = 0
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = ...


class AlterConfigsRequest(RequestMessage[AlterConfigsResponse]):
    class AlterConfigsResource(Structure):
        resource_type: int = 0
        resource_name: str = ""
        configs: list[AlterConfigsRequest.AlterableConfig] = ...

    class AlterableConfig(Structure):
        name: str = ""
        value: str | None = ""

    resources: list[AlterConfigsRequest.AlterConfigsResource] = ...
    validate_only: bool = False


class AlterPartitionResponse(Message):
    class TopicData(Structure):
        topic_id: bytes = ...
        partitions: list[AlterPartitionResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        leader_id: int = 0
        leader_epoch: int = 0
        isr: Sequence[int] = ...
        leader_recovery_state: int = 0
        partition_epoch: int = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[AlterPartitionResponse.TopicData] = ...


class AlterPartitionRequest(RequestMessage[AlterPartitionResponse]):
    class TopicData(Structure):
        topic_id: bytes = ...
        partitions: list[AlterPartitionRequest.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        leader_epoch: int = 0
        new_isr: Sequence[int] = ...
        new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] = ...
        leader_recovery_state: int = 0
        partition_epoch: int = 0

    class BrokerState(Structure):
        broker_id: int = 0
        broker_epoch: int = -1

    broker_id: int = 0
    broker_epoch: int = -1
    topics: list[AlterPartitionRequest.TopicData] = ...


class AlterReplicaLogDirsResponse(Message):
    class AlterReplicaLogDirTopicResult(Structure):
        topic_name: str = ""
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = ...

    class AlterReplicaLogDirPartitionResult(Structure):
        partition_index: int = 0
        error_code: int = 0

    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = ...


class AlterReplicaLogDirsRequest(RequestMessage[AlterReplicaLogDirsResponse]):
    class AlterReplicaLogDir(Structure):
        path: str = ""
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = ...

    class AlterReplicaLogDirTopic(Structure):
        name: str = ""
        partitions: Sequence[int] = ...

    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = ...


class ApiVersionsResponse(Message):
    class ApiVersion(Structure):
        api_key: int = 0
        min_version: int = 0
        max_version: int = 0

    class SupportedFeatureKey(Structure):
        name: str = ""
        min_version: int = 0
        max_version: int = 0

    class FinalizedFeatureKey(Structure):
        name: str = ""
        max_version_level: int = 0
        min_version_level: int = 0

    error_code: int = 0
    api_keys: list[ApiVersionsResponse.ApiVersion] = ...
    throttle_time_ms: int = 0
    supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = ...
    finalized_features_epoch: int = -1
    finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = ...
    zk_migration_ready: bool = False


class ApiVersionsRequest(RequestMessage[ApiVersionsResponse]):
    client_software_name: str = ""
    client_software_version: str = ""


class BeginQuorumEpochResponse(Message):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[BeginQuorumEpochResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        leader_id: int = 0
        leader_epoch: int = 0

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0

    error_code: int = 0
    topics: list[BeginQuorumEpochResponse.TopicData] = ...
    node_endpoints: list[BeginQuorumEpochResponse.NodeEndpoint] = ...


class BeginQuorumEpochRequest(RequestMessage[BeginQuorumEpochResponse]):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[BeginQuorumEpochRequest.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        voter_directory_id: bytes = ...
        leader_id: int = 0
        leader_epoch: int = 0

    class LeaderEndpoint(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[BeginQuorumEpochRequest.TopicData] = ...
    leader_endpoints: list[BeginQuorumEpochRequest.LeaderEndpoint] = ...


class BrokerHeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


class BrokerHeartbeatRequest(RequestMessage[BrokerHeartbeatResponse]):
    broker_id: int = 0
    broker_epoch: int = -1
    current_metadata_offset: int = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: list[bytes] = ...
    cordoned_log_dirs: list[bytes] | None = None


class BrokerRegistrationResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    broker_epoch: int = -1


class BrokerRegistrationRequest(RequestMessage[BrokerRegistrationResponse]):
    class Listener(Structure):
        name: str = ""
        host: str = ""
        port: int = 0
        security_protocol: int = 0

    class Feature(Structure):
        name: str = ""
        min_supported_version: int = 0
        max_supported_version: int = 0

    broker_id: int = 0
    cluster_id: str = ""
    incarnation_id: bytes = ...
    listeners: list[BrokerRegistrationRequest.Listener] = ...
    features: list[BrokerRegistrationRequest.Feature] = ...
    rack: str | None = ""
    is_migrating_zk_broker: bool = False
    log_dirs: list[bytes] = ...
    previous_broker_epoch: int = -1


class ConsumerGroupDescribeResponse(Message):
    class DescribedGroup(Structure):
        error_code: int = 0
        error_message: str | None = None
        group_id: str = ""
        group_state: str = ""
        group_epoch: int = 0
        assignment_epoch: int = 0
        assignor_name: str = ""
        members: list[ConsumerGroupDescribeResponse.Member] = ...
        authorized_operations: int = -2147483648

    class Member(Structure):
        member_id: str = ""
        instance_id: str | None = None
        rack_id: str | None = None
        member_epoch: int = 0
        client_id: str = ""
        client_host: str = ""
        subscribed_topic_names: list[str] = ...
        subscribed_topic_regex: str | None = None
        assignment: ConsumerGroupDescribeResponse.Assignment = ...
        target_assignment: ConsumerGroupDescribeResponse.Assignment = ...
        member_type: int = -1

    class Assignment(Structure):
        topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = ...

    class TopicPartitions(Structure):
        topic_id: bytes = ...
        topic_name: str = ""
        partitions: Sequence[int] = ...

    throttle_time_ms: int = 0
    groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = ...


class ConsumerGroupDescribeRequest(RequestMessage[ConsumerGroupDescribeResponse]):
    group_ids: list[str] = ...
    include_authorized_operations: bool = False


class ConsumerGroupHeartbeatResponse(Message):
    class Assignment(Structure):
        topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = ...

    class TopicPartitions(Structure):
        topic_id: bytes = ...
        partitions: Sequence[int] = ...

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None = None


class ConsumerGroupHeartbeatRequest(RequestMessage[ConsumerGroupHeartbeatResponse]):
    class TopicPartitions(Structure):
        topic_id: bytes = ...
        partitions: Sequence[int] = ...

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = None


class ControllerRegistrationResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


class ControllerRegistrationRequest(RequestMessage[ControllerRegistrationResponse]):
    class Listener(Structure):
        name: str = ""
        host: str = ""
        port: int = 0
        security_protocol: int = 0

    class Feature(Structure):
        name: str = ""
        min_supported_version: int = 0
        max_supported_version: int = 0

    controller_id: int = 0
    incarnation_id: bytes = ...
    zk_migration_ready: bool = False
    listeners: list[ControllerRegistrationRequest.Listener] = ...
    features: list[ControllerRegistrationRequest.Feature] = ...


class CreatePartitionsResponse(Message):
    class CreatePartitionsTopicResult(Structure):
        name: str = ""
        error_code: int = 0
        error_message: str | None = None

    throttle_time_ms: int = 0
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = ...


class CreatePartitionsRequest(RequestMessage[CreatePartitionsResponse]):
    class CreatePartitionsTopic(Structure):
        name: str = ""
        count: int = 0
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = ...

    class CreatePartitionsAssignment(Structure):
        broker_ids: Sequence[int] = ...

    topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = ...
    timeout_ms: int = 0
    validate_only: bool = False


class CreateTopicsResponse(Message):
    class CreatableTopicResult(Structure):
        name: str = ""
        topic_id: bytes = ...
        error_code: int = 0
        error_message: str | None = ""
        topic_config_error_code: int = 0
        num_partitions: int = -1
        replication_factor: int = -1
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = ...

    class CreatableTopicConfigs(Structure):
        name: str = ""
        value: str | None = ""
        read_only: bool = False
        config_source: int = -1
        is_sensitive: bool = False

    throttle_time_ms: int = 0
    topics: list[CreateTopicsResponse.CreatableTopicResult] = ...


class CreateTopicsRequest(RequestMessage[CreateTopicsResponse]):
    class CreatableTopic(Structure):
        name: str = ""
        num_partitions: int = 0
        replication_factor: int = 0
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = ...
        configs: list[CreateTopicsRequest.CreatableTopicConfig] = ...

    class CreatableReplicaAssignment(Structure):
        partition_index: int = 0
        broker_ids: Sequence[int] = ...

    class CreatableTopicConfig(Structure):
        name: str = ""
        value: str | None = ""

    topics: list[CreateTopicsRequest.CreatableTopic] = ...
    timeout_ms: int = 60000
    validate_only: bool = False


class DeleteGroupsResponse(Message):
    class DeletableGroupResult(Structure):
        group_id: str = ""
        error_code: int = 0

    throttle_time_ms: int = 0
    results: list[DeleteGroupsResponse.DeletableGroupResult] = ...


class DeleteGroupsRequest(RequestMessage[DeleteGroupsResponse]):
    groups_names: list[str] = ...


class DeleteRecordsResponse(Message):
    class DeleteRecordsTopicResult(Structure):
        name: str = ""
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = ...

    class DeleteRecordsPartitionResult(Structure):
        partition_index: int = 0
        low_watermark: int = 0
        error_code: int = 0

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = ...


class DeleteRecordsRequest(RequestMessage[DeleteRecordsResponse]):
    class DeleteRecordsTopic(Structure):
        name: str = ""
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = ...

    class DeleteRecordsPartition(Structure):
        partition_index: int = 0
        offset: int = 0

    topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = ...
    timeout_ms: int = 0


class DeleteTopicsResponse(Message):
    class DeletableTopicResult(Structure):
        name: str | None = ""
        topic_id: bytes = ...
        error_code: int = 0
        error_message: str | None = None

    throttle_time_ms: int = 0
    responses: list[DeleteTopicsResponse.DeletableTopicResult] = ...


class DeleteTopicsRequest(RequestMessage[DeleteTopicsResponse]):
    class DeleteTopicState(Structure):
        name: str | None = None
        topic_id: bytes = ...

    topics: list[DeleteTopicsRequest.DeleteTopicState] = ...
    topic_names: list[str] = ...
    timeout_ms: int = 0


class DescribeClientQuotasResponse(Message):
    class EntryData(Structure):
        entity: list[DescribeClientQuotasResponse.EntityData] = ...
        values: list[DescribeClientQuotasResponse.ValueData] = ...

    class EntityData(Structure):
        entity_type: str = ""
        entity_name: str | None = ""

    class ValueData(Structure):
        key: str = ""
        value: float = 0.0

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[DescribeClientQuotasResponse.EntryData] | None = ...


class DescribeClientQuotasRequest(RequestMessage[DescribeClientQuotasResponse]):
    class ComponentData(Structure):
        entity_type: str = ""
        match_type: int = 0
        match: str | None = ""

    components: list[DescribeClientQuotasRequest.ComponentData] = ...
    strict: bool = False


class DescribeClusterResponse(Message):
    class DescribeClusterBroker(Structure):
        broker_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None
        is_fenced: bool = False

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterResponse.DescribeClusterBroker] = ...
    cluster_authorized_operations: int = -2147483648


class DescribeClusterRequest(RequestMessage[DescribeClusterResponse]):
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False


class DescribeConfigsResponse(Message):
    class DescribeConfigsResult(Structure):
        error_code: int = 0
        error_message: str | None = ""
        resource_type: int = 0
        resource_name: str = ""
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = ...

    class DescribeConfigsResourceResult(Structure):
        name: str = ""
        value: str | None = ""
        read_only: bool = False
        config_source: int = -1
        is_sensitive: bool = False
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = ...
        config_type: int = 0
        documentation: str | None = ""

    class DescribeConfigsSynonym(Structure):
        name: str = ""
        value: str | None = ""
        source: int = 0

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResponse.DescribeConfigsResult] = ...


class DescribeConfigsRequest(RequestMessage[DescribeConfigsResponse]):
    class DescribeConfigsResource(Structure):
        resource_type: int = 0
        resource_name: str = ""
        configuration_keys: list[str] | None = ...

    resources: list[DescribeConfigsRequest.DescribeConfigsResource] = ...
    include_synonyms: bool = False
    include_documentation: bool = False


class DescribeGroupsResponse(Message):
    class DescribedGroup(Structure):
        error_code: int = 0
        error_message: str | None = None
        group_id: str = ""
        group_state: str = ""
        protocol_type: str = ""
        protocol_data: str = ""
        members: list[DescribeGroupsResponse.DescribedGroupMember] = ...
        authorized_operations: int = -2147483648

    class DescribedGroupMember(Structure):
        member_id: str = ""
        group_instance_id: str | None = None
        client_id: str = ""
        client_host: str = ""
        member_metadata: bytes = ...
        member_assignment: bytes = ...

    throttle_time_ms: int = 0
    groups: list[DescribeGroupsResponse.DescribedGroup] = ...


class DescribeGroupsRequest(RequestMessage[DescribeGroupsResponse]):
    groups: list[str] = ...
    include_authorized_operations: bool = False


class DescribeLogDirsResponse(Message):
    class DescribeLogDirsResult(Structure):
        error_code: int = 0
        log_dir: str = ""
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = ...
        total_bytes: int = -1
        usable_bytes: int = -1
        is_cordoned: bool = False

    class DescribeLogDirsTopic(Structure):
        name: str = ""
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = ...

    class DescribeLogDirsPartition(Structure):
        partition_index: int = 0
        partition_size: int = 0
        offset_lag: int = 0
        is_future_key: bool = False

    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = ...


class DescribeLogDirsRequest(RequestMessage[DescribeLogDirsResponse]):
    class DescribableLogDirTopic(Structure):
        topic: str = ""
        partitions: Sequence[int] = ...

    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = ...


class DescribeProducersResponse(Message):
    class TopicResponse(Structure):
        name: str = ""
        partitions: list[DescribeProducersResponse.PartitionResponse] = ...

    class PartitionResponse(Structure):
        partition_index: int = 0
        error_code: int = 0
        error_message: str | None = None
        active_producers: list[DescribeProducersResponse.ProducerState] = ...

    class ProducerState(Structure):
        producer_id: int = 0
        producer_epoch: int = 0
        last_sequence: int = -1
        last_timestamp: int = -1
        coordinator_epoch: int = 0
        current_txn_start_offset: int = -1

    throttle_time_ms: int = 0
    topics: list[DescribeProducersResponse.TopicResponse] = ...


class DescribeProducersRequest(RequestMessage[DescribeProducersResponse]):
    class TopicRequest(Structure):
        name: str = ""
        partition_indexes: Sequence[int] = ...

    topics: list[DescribeProducersRequest.TopicRequest] = ...


class DescribeQuorumResponse(Message):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[DescribeQuorumResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        error_message: str | None = ""
        leader_id: int = 0
        leader_epoch: int = 0
        high_watermark: int = 0
        current_voters: list[DescribeQuorumResponse.ReplicaState] = ...
        observers: list[DescribeQuorumResponse.ReplicaState] = ...

    class ReplicaState(Structure):
        replica_id: int = 0
        replica_directory_id: bytes = ...
        log_end_offset: int = 0
        last_fetch_timestamp: int = -1
        last_caught_up_timestamp: int = -1

    class Node(Structure):
        node_id: int = 0
        listeners: list[DescribeQuorumResponse.Listener] = ...

    class Listener(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    error_code: int = 0
    error_message: str | None = ""
    topics: list[DescribeQuorumResponse.TopicData] = ...
    nodes: list[DescribeQuorumResponse.Node] = ...


class DescribeQuorumRequest(RequestMessage[DescribeQuorumResponse]):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[DescribeQuorumRequest.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0

    topics: list[DescribeQuorumRequest.TopicData] = ...


class DescribeTopicPartitionsResponse(Message):
    class DescribeTopicPartitionsResponseTopic(Structure):
        error_code: int = 0
        name: str | None = ""
        topic_id: bytes = ...
        is_internal: bool = False
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = ...
        topic_authorized_operations: int = -2147483648

    class DescribeTopicPartitionsResponsePartition(Structure):
        error_code: int = 0
        partition_index: int = 0
        leader_id: int = 0
        leader_epoch: int = -1
        replica_nodes: Sequence[int] = ...
        isr_nodes: Sequence[int] = ...
        eligible_leader_replicas: Sequence[int] | None = None
        last_known_elr: Sequence[int] | None = None
        offline_replicas: Sequence[int] = ...

    class Cursor(Structure):
        topic_name: str = ""
        partition_index: int = 0

    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = ...
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None = None


class DescribeTopicPartitionsRequest(RequestMessage[DescribeTopicPartitionsResponse]):
    class TopicRequest(Structure):
        name: str = ""

    class Cursor(Structure):
        topic_name: str = ""
        partition_index: int = 0

    topics: list[DescribeTopicPartitionsRequest.TopicRequest] = ...
    response_partition_limit: int = 2000
    cursor: DescribeTopicPartitionsRequest.Cursor | None = None


class DescribeTransactionsResponse(Message):
    class TransactionState(Structure):
        error_code: int = 0
        transactional_id: str = ""
        transaction_state: str = ""
        transaction_timeout_ms: int = 0
        transaction_start_time_ms: int = 0
        producer_id: int = 0
        producer_epoch: int = 0
        topics: list[DescribeTransactionsResponse.TopicData] = ...

    class TopicData(Structure):
        topic: str = ""
        partitions: Sequence[int] = ...

    throttle_time_ms: int = 0
    transaction_states: list[DescribeTransactionsResponse.TransactionState] = ...


class DescribeTransactionsRequest(RequestMessage[DescribeTransactionsResponse]):
    transactional_ids: list[str] = ...


class ElectLeadersResponse(Message):
    class ReplicaElectionResult(Structure):
        topic: str = ""
        partition_result: list[ElectLeadersResponse.PartitionResult] = ...

    class PartitionResult(Structure):
        partition_id: int = 0
        error_code: int = 0
        error_message: str | None = ""

    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = ...


class ElectLeadersRequest(RequestMessage[ElectLeadersResponse]):
    class TopicPartitions(Structure):
        topic: str = ""
        partitions: Sequence[int] = ...

    election_type: int = 0
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = ...
    timeout_ms: int = 60000


class EndQuorumEpochResponse(Message):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[EndQuorumEpochResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        leader_id: int = 0
        leader_epoch: int = 0

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0

    error_code: int = 0
    topics: list[EndQuorumEpochResponse.TopicData] = ...
    node_endpoints: list[EndQuorumEpochResponse.NodeEndpoint] = ...


class EndQuorumEpochRequest(RequestMessage[EndQuorumEpochResponse]):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[EndQuorumEpochRequest.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        leader_id: int = 0
        leader_epoch: int = 0
        preferred_successors: Sequence[int] = ...
        preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo] = ...

    class ReplicaInfo(Structure):
        candidate_id: int = 0
        candidate_directory_id: bytes = ...

    class LeaderEndpoint(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    cluster_id: str | None = None
    topics: list[EndQuorumEpochRequest.TopicData] = ...
    leader_endpoints: list[EndQuorumEpochRequest.LeaderEndpoint] = ...


class EndTxnResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = -1


class EndTxnRequest(RequestMessage[EndTxnResponse]):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False


class EnvelopeResponse(Message):
    response_data: bytes | None = None
    error_code: int = 0


class EnvelopeRequest(RequestMessage[EnvelopeResponse]):
    request_data: bytes = ...
    request_principal: bytes | None = ...
    client_host_address: bytes = ...


class FetchResponse(Message):
    class FetchableTopicResponse(Structure):
        topic: str = ""
        topic_id: bytes = ...
        partitions: list[FetchResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        high_watermark: int = 0
        last_stable_offset: int = -1
        log_start_offset: int = -1
        diverging_epoch: FetchResponse.EpochEndOffset | None = None
        current_leader: FetchResponse.LeaderIdAndEpoch | None = None
        snapshot_id: FetchResponse.SnapshotId | None = None
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None = ...
        preferred_read_replica: int = -1
        records: bytes | None = ...

    class EpochEndOffset(Structure):
        epoch: int = -1
        end_offset: int = -1

    class LeaderIdAndEpoch(Structure):
        leader_id: int = -1
        leader_epoch: int = -1

    class SnapshotId(Structure):
        end_offset: int = -1
        epoch: int = -1

    class AbortedTransaction(Structure):
        producer_id: int = 0
        first_offset: int = 0

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None

    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchResponse.FetchableTopicResponse] = ...
    node_endpoints: list[FetchResponse.NodeEndpoint] = ...


class FetchRequest(RequestMessage[FetchResponse]):
    class ReplicaState(Structure):
        replica_id: int = -1
        replica_epoch: int = -1

    class FetchTopic(Structure):
        topic: str = ""
        topic_id: bytes = ...
        partitions: list[FetchRequest.FetchPartition] = ...

    class FetchPartition(Structure):
        partition: int = 0
        current_leader_epoch: int = -1
        fetch_offset: int = 0
        last_fetched_epoch: int = -1
        log_start_offset: int = -1
        partition_max_bytes: int = 0
        replica_directory_id: bytes = ...
        high_watermark: int = 9223372036854775807

    class ForgottenTopic(Structure):
        topic: str = ""
        topic_id: bytes = ...
        partitions: Sequence[int] = ...

    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: FetchRequest.ReplicaState | None = None
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchRequest.FetchTopic] = ...
    forgotten_topics_data: list[FetchRequest.ForgottenTopic] = ...
    rack_id: str = ""


class FetchSnapshotResponse(Message):
    class TopicSnapshot(Structure):
        name: str = ""
        partitions: list[FetchSnapshotResponse.PartitionSnapshot] = ...

    class PartitionSnapshot(Structure):
        index: int = 0
        error_code: int = 0
        snapshot_id: FetchSnapshotResponse.SnapshotId = ...
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch | None = None
        size: int = 0
        position: int = 0
        unaligned_records: bytes = ...

    class SnapshotId(Structure):
        end_offset: int = 0
        epoch: int = 0

    class LeaderIdAndEpoch(Structure):
        leader_id: int = 0
        leader_epoch: int = 0

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[FetchSnapshotResponse.TopicSnapshot] = ...
    node_endpoints: list[FetchSnapshotResponse.NodeEndpoint] = ...


class FetchSnapshotRequest(RequestMessage[FetchSnapshotResponse]):
    class TopicSnapshot(Structure):
        name: str = ""
        partitions: list[FetchSnapshotRequest.PartitionSnapshot] = ...

    class PartitionSnapshot(Structure):
        partition: int = 0
        current_leader_epoch: int = 0
        snapshot_id: FetchSnapshotRequest.SnapshotId = ...
        position: int = 0
        replica_directory_id: bytes = ...

    class SnapshotId(Structure):
        end_offset: int = 0
        epoch: int = 0

    cluster_id: str | None = None
    replica_id: int = -1
    max_bytes: int = 2147483647
    topics: list[FetchSnapshotRequest.TopicSnapshot] = ...


class FindCoordinatorResponse(Message):
    class Coordinator(Structure):
        key: str = ""
        node_id: int = 0
        host: str = ""
        port: int = 0
        error_code: int = 0
        error_message: str | None = ""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[FindCoordinatorResponse.Coordinator] = ...


class FindCoordinatorRequest(RequestMessage[FindCoordinatorResponse]):
    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = ...


class HeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0


class HeartbeatRequest(RequestMessage[HeartbeatResponse]):
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None


class IncrementalAlterConfigsResponse(Message):
    class AlterConfigsResourceResponse(Structure):
        error_code: int = 0
        error_message: str | None = ""
        resource_type: int = 0
        resource_name: str = ""

    throttle_time_ms: int = 0
    responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] = ...


class IncrementalAlterConfigsRequest(RequestMessage[IncrementalAlterConfigsResponse]):
    class AlterConfigsResource(Structure):
        resource_type: int = 0
        resource_name: str = ""
        configs: list[IncrementalAlterConfigsRequest.AlterableConfig] = ...

    class AlterableConfig(Structure):
        name: str = ""
        config_operation: int = 0
        value: str | None = ""

    resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] = ...
    validate_only: bool = False


class InitProducerIdResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


class InitProducerIdRequest(RequestMessage[InitProducerIdResponse]):
    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False


class JoinGroupResponse(Message):
    class JoinGroupResponseMember(Structure):
        member_id: str = ""
        group_instance_id: str | None = None
        metadata: bytes = ...

    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponse.JoinGroupResponseMember] = ...


class JoinGroupRequest(RequestMessage[JoinGroupResponse]):
    class JoinGroupRequestProtocol(Structure):
        name: str = ""
        metadata: bytes = ...

    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = ...
    reason: str | None = None


class LeaveGroupResponse(Message):
    class MemberResponse(Structure):
        member_id: str = ""
        group_instance_id: str | None = ""
        error_code: int = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[LeaveGroupResponse.MemberResponse] = ...


class LeaveGroupRequest(RequestMessage[LeaveGroupResponse]):
    class MemberIdentity(Structure):
        member_id: str = ""
        group_instance_id: str | None = None
        reason: str | None = None

    group_id: str = ""
    member_id: str = ""
    members: list[LeaveGroupRequest.MemberIdentity] = ...


class ListConfigResourcesResponse(Message):
    class ConfigResource(Structure):
        resource_name: str = ""
        resource_type: int = 16

    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ListConfigResourcesResponse.ConfigResource] = ...


class ListConfigResourcesRequest(RequestMessage[ListConfigResourcesResponse]):
    resource_types: Sequence[int] = ...


class ListGroupsResponse(Message):
    class ListedGroup(Structure):
        group_id: str = ""
        protocol_type: str = ""
        group_state: str = ""
        group_type: str = ""

    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListGroupsResponse.ListedGroup] = ...


class ListGroupsRequest(RequestMessage[ListGroupsResponse]):
    states_filter: list[str] = ...
    types_filter: list[str] = ...


class ListOffsetsResponse(Message):
    class ListOffsetsTopicResponse(Structure):
        name: str = ""
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = ...

    class ListOffsetsPartitionResponse(Structure):
        partition_index: int = 0
        error_code: int = 0
        timestamp: int = -1
        offset: int = -1
        leader_epoch: int = -1

    throttle_time_ms: int = 0
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = ...


class ListOffsetsRequest(RequestMessage[ListOffsetsResponse]):
    class ListOffsetsTopic(Structure):
        name: str = ""
        partitions: list[ListOffsetsRequest.ListOffsetsPartition] = ...

    class ListOffsetsPartition(Structure):
        partition_index: int = 0
        current_leader_epoch: int = -1
        timestamp: int = 0

    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsRequest.ListOffsetsTopic] = ...
    timeout_ms: int = 0


class ListPartitionReassignmentsResponse(Message):
    class OngoingTopicReassignment(Structure):
        name: str = ""
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = ...

    class OngoingPartitionReassignment(Structure):
        partition_index: int = 0
        replicas: Sequence[int] = ...
        adding_replicas: Sequence[int] = ...
        removing_replicas: Sequence[int] = ...

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = ...


class ListPartitionReassignmentsRequest(RequestMessage[ListPartitionReassignmentsResponse]):
    class ListPartitionReassignmentsTopics(Structure):
        name: str = ""
        partition_indexes: Sequence[int] = ...

    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None


class ListTransactionsResponse(Message):
    class TransactionState(Structure):
        transactional_id: str = ""
        producer_id: int = 0
        transaction_state: str = ""

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = ...
    transaction_states: list[ListTransactionsResponse.TransactionState] = ...


class ListTransactionsRequest(RequestMessage[ListTransactionsResponse]):
    state_filters: list[str] = ...
    producer_id_filters: Sequence[int] = ...
    duration_filter: int = -1
    transactional_id_pattern: str | None = None


class MetadataResponse(Message):
    class MetadataResponseBroker(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None

    class MetadataResponseTopic(Structure):
        error_code: int = 0
        name: str | None = ""
        topic_id: bytes = ...
        is_internal: bool = False
        partitions: list[MetadataResponse.MetadataResponsePartition] = ...
        topic_authorized_operations: int = -2147483648

    class MetadataResponsePartition(Structure):
        error_code: int = 0
        partition_index: int = 0
        leader_id: int = 0
        leader_epoch: int = -1
        replica_nodes: Sequence[int] = ...
        isr_nodes: Sequence[int] = ...
        offline_replicas: Sequence[int] = ...

    throttle_time_ms: int = 0
    brokers: list[MetadataResponse.MetadataResponseBroker] = ...
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponse.MetadataResponseTopic] = ...
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0


class MetadataRequest(RequestMessage[MetadataResponse]):
    class MetadataRequestTopic(Structure):
        topic_id: bytes = ...
        name: str | None = ""

    topics: list[MetadataRequest.MetadataRequestTopic] | None = ...
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


class OffsetCommitResponse(Message):
    class OffsetCommitResponseTopic(Structure):
        name: str = ""
        topic_id: bytes = ...
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = ...

    class OffsetCommitResponsePartition(Structure):
        partition_index: int = 0
        error_code: int = 0

    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = ...


class OffsetCommitRequest(RequestMessage[OffsetCommitResponse]):
    class OffsetCommitRequestTopic(Structure):
        name: str = ""
        topic_id: bytes = ...
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = ...

    class OffsetCommitRequestPartition(Structure):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        committed_metadata: str | None = ""

    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = ...


class OffsetDeleteResponse(Message):
    class OffsetDeleteResponseTopic(Structure):
        name: str = ""
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = ...

    class OffsetDeleteResponsePartition(Structure):
        partition_index: int = 0
        error_code: int = 0

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = ...


class OffsetDeleteRequest(RequestMessage[OffsetDeleteResponse]):
    class OffsetDeleteRequestTopic(Structure):
        name: str = ""
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = ...

    class OffsetDeleteRequestPartition(Structure):
        partition_index: int = 0

    group_id: str = ""
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = ...


class OffsetFetchResponse(Message):
    class OffsetFetchResponseTopic(Structure):
        name: str = ""
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = ...

    class OffsetFetchResponsePartition(Structure):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        metadata: str | None = ""
        error_code: int = 0

    class OffsetFetchResponseGroup(Structure):
        group_id: str = ""
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = ...
        error_code: int = 0

    class OffsetFetchResponseTopics(Structure):
        name: str = ""
        topic_id: bytes = ...
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = ...

    class OffsetFetchResponsePartitions(Structure):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        metadata: str | None = ""
        error_code: int = 0

    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = ...
    error_code: int = 0
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = ...


class OffsetFetchRequest(RequestMessage[OffsetFetchResponse]):
    class OffsetFetchRequestTopic(Structure):
        name: str = ""
        partition_indexes: Sequence[int] = ...

    class OffsetFetchRequestGroup(Structure):
        group_id: str = ""
        member_id: str | None = None
        member_epoch: int = -1
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = ...

    class OffsetFetchRequestTopics(Structure):
        name: str = ""
        topic_id: bytes = ...
        partition_indexes: Sequence[int] = ...

    group_id: str = ""
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = ...
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = ...
    require_stable: bool = False


class OffsetForLeaderEpochResponse(Message):
    class OffsetForLeaderTopicResult(Structure):
        topic: str = ""
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = ...

    class EpochEndOffset(Structure):
        error_code: int = 0
        partition: int = 0
        leader_epoch: int = -1
        end_offset: int = -1

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = ...


class OffsetForLeaderEpochRequest(RequestMessage[OffsetForLeaderEpochResponse]):
    class OffsetForLeaderTopic(Structure):
        topic: str = ""
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = ...

    class OffsetForLeaderPartition(Structure):
        partition: int = 0
        current_leader_epoch: int = -1
        leader_epoch: int = 0

    replica_id: int = -2
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = ...


class ProduceResponse(Message):
    class TopicProduceResponse(Structure):
        name: str = ""
        topic_id: bytes = ...
        partition_responses: list[ProduceResponse.PartitionProduceResponse] = ...

    class PartitionProduceResponse(Structure):
        index: int = 0
        error_code: int = 0
        base_offset: int = 0
        log_append_time_ms: int = -1
        log_start_offset: int = -1
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = ...
        error_message: str | None = None
        current_leader: ProduceResponse.LeaderIdAndEpoch | None = None

    class BatchIndexAndErrorMessage(Structure):
        batch_index: int = 0
        batch_index_error_message: str | None = None

    class LeaderIdAndEpoch(Structure):
        leader_id: int = -1
        leader_epoch: int = -1

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None

    responses: list[ProduceResponse.TopicProduceResponse] = ...
    throttle_time_ms: int = 0
    node_endpoints: list[ProduceResponse.NodeEndpoint] = ...


class ProduceRequest(RequestMessage[ProduceResponse]):
    class TopicProduceData(Structure):
        name: str = ""
        topic_id: bytes = ...
        partition_data: list[ProduceRequest.PartitionProduceData] = ...

    class PartitionProduceData(Structure):
        index: int = 0
        records: bytes | None = ...

    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[ProduceRequest.TopicProduceData] = ...


class RemoveRaftVoterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


class RemoveRaftVoterRequest(RequestMessage[RemoveRaftVoterResponse]):
    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: bytes = ...


class SyncGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = ...


class SyncGroupRequest(RequestMessage[SyncGroupResponse]):
    class SyncGroupRequestAssignment(Structure):
        member_id: str = ""
        assignment: bytes = ...

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = ...


class TxnOffsetCommitResponse(Message):
    class TxnOffsetCommitResponseTopic(Structure):
        name: str = ""
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = ...

    class TxnOffsetCommitResponsePartition(Structure):
        partition_index: int = 0
        error_code: int = 0

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = ...


class TxnOffsetCommitRequest(RequestMessage[TxnOffsetCommitResponse]):
    class TxnOffsetCommitRequestTopic(Structure):
        name: str = ""
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = ...

    class TxnOffsetCommitRequestPartition(Structure):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        committed_metadata: str | None = ""

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = ...


class UnregisterBrokerResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


class UnregisterBrokerRequest(RequestMessage[UnregisterBrokerResponse]):
    broker_id: int = 0


class UpdateFeaturesResponse(Message):
    class UpdatableFeatureResult(Structure):
        feature: str = ""
        error_code: int = 0
        error_message: str | None = ""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = ...


class UpdateFeaturesRequest(RequestMessage[UpdateFeaturesResponse]):
    class FeatureUpdateKey(Structure):
        feature: str = ""
        max_version_level: int = 0
        allow_downgrade: bool = False
        upgrade_type: int = 1

    timeout_ms: int = 60000
    feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = ...
    validate_only: bool = False


class UpdateRaftVoterResponse(Message):
    class CurrentLeader(Structure):
        leader_id: int = -1
        leader_epoch: int = -1
        host: str = ""
        port: int = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: UpdateRaftVoterResponse.CurrentLeader | None = None


class UpdateRaftVoterRequest(RequestMessage[UpdateRaftVoterResponse]):
    class Listener(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    class KRaftVersionFeature(Structure):
        min_supported_version: int = 0
        max_supported_version: int = 0

    cluster_id: str | None = ""
    current_leader_epoch: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ...
    listeners: list[UpdateRaftVoterRequest.Listener] = ...
    kraft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature = ...


class VoteResponse(Message):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[VoteResponse.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        error_code: int = 0
        leader_id: int = 0
        leader_epoch: int = 0
        vote_granted: bool = False

    class NodeEndpoint(Structure):
        node_id: int = 0
        host: str = ""
        port: int = 0

    error_code: int = 0
    topics: list[VoteResponse.TopicData] = ...
    node_endpoints: list[VoteResponse.NodeEndpoint] = ...


class VoteRequest(RequestMessage[VoteResponse]):
    class TopicData(Structure):
        topic_name: str = ""
        partitions: list[VoteRequest.PartitionData] = ...

    class PartitionData(Structure):
        partition_index: int = 0
        replica_epoch: int = 0
        replica_id: int = 0
        replica_directory_id: bytes = ...
        voter_directory_id: bytes = ...
        last_offset_epoch: int = 0
        last_offset: int = 0
        pre_vote: bool = False

    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[VoteRequest.TopicData] = ...


class WriteTxnMarkersResponse(Message):
    class WritableTxnMarkerResult(Structure):
        producer_id: int = 0
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = ...

    class WritableTxnMarkerTopicResult(Structure):
        name: str = ""
        partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = ...

    class WritableTxnMarkerPartitionResult(Structure):
        partition_index: int = 0
        error_code: int = 0

    markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = ...


class WriteTxnMarkersRequest(RequestMessage[WriteTxnMarkersResponse]):
    class WritableTxnMarker(Structure):
        producer_id: int = 0
        producer_epoch: int = 0
        transaction_result: bool = False
        topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = ...
        coordinator_epoch: int = 0
        transaction_version: int = 0

    class WritableTxnMarkerTopic(Structure):
        name: str = ""
        partition_indexes: Sequence[int] = ...

    markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = ...


class RequestHeader(Message):
    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""


class ResponseHeader(Message):
    correlation_id: int = 0


class AbortTransactionRecord(Message):
    reason: str | None = None


class AccessControlEntryRecord(Message):
    id: bytes = ...
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


class BeginTransactionRecord(Message):
    name: str | None = None


class BrokerRegistrationChangeRecord(Message):
    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: list[bytes] = ...
    cordoned_log_dirs: list[bytes] | None = None


class ClearElrRecord(Message):
    topic_name: str = ""


class ClientQuotaRecord(Message):
    class EntityData(Structure):
        entity_type: str = ""
        entity_name: str | None = ""

    entity: list[ClientQuotaRecord.EntityData] = ...
    key: str = ""
    value: float = 0.0
    remove: bool = False


class ConfigRecord(Message):
    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""


class EndTransactionRecord(Message):
    ...


class FeatureLevelRecord(Message):
    name: str = ""
    feature_level: int = 0


class FenceBrokerRecord(Message):
    id: int = 0
    epoch: int = 0


class NoOpRecord(Message):
    ...


class PartitionChangeRecord(Message):
    partition_id: int = -1
    topic_id: bytes = ...
    isr: Sequence[int] | None = None
    leader: int = -2
    replicas: Sequence[int] | None = None
    removing_replicas: Sequence[int] | None = None
    adding_replicas: Sequence[int] | None = None
    leader_recovery_state: int = -1
    directories: list[bytes] | None = None
    eligible_leader_replicas: Sequence[int] | None = None
    last_known_elr: Sequence[int] | None = None


class PartitionRecord(Message):
    partition_id: int = -1
    topic_id: bytes = ...
    replicas: Sequence[int] = ...
    isr: Sequence[int] = ...
    removing_replicas: Sequence[int] = ...
    adding_replicas: Sequence[int] = ...
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: list[bytes] = ...
    eligible_leader_replicas: Sequence[int] | None = None
    last_known_elr: Sequence[int] | None = None


class ProducerIdsRecord(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0


class RegisterBrokerRecord(Message):
    class BrokerEndpoint(Structure):
        name: str = ""
        host: str = ""
        port: int = 0
        security_protocol: int = 0

    class BrokerFeature(Structure):
        name: str = ""
        min_supported_version: int = 0
        max_supported_version: int = 0

    broker_id: int = 0
    is_migrating_zk_broker: bool = False
    incarnation_id: bytes = ...
    broker_epoch: int = 0
    end_points: list[RegisterBrokerRecord.BrokerEndpoint] = ...
    features: list[RegisterBrokerRecord.BrokerFeature] = ...
    rack: str | None = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: list[bytes] = ...
    cordoned_log_dirs: list[bytes] | None = None


class RegisterControllerRecord(Message):
    class ControllerEndpoint(Structure):
        name: str = ""
        host: str = ""
        port: int = 0
        security_protocol: int = 0

    class ControllerFeature(Structure):
        name: str = ""
        min_supported_version: int = 0
        max_supported_version: int = 0

    controller_id: int = 0
    incarnation_id: bytes = ...
    zk_migration_ready: bool = False
    end_points: list[RegisterControllerRecord.ControllerEndpoint] = ...
    features: list[RegisterControllerRecord.ControllerFeature] = ...


class RemoveAccessControlEntryRecord(Message):
    id: bytes = ...


class RemoveTopicRecord(Message):
    topic_id: bytes = ...


class TopicRecord(Message):
    name: str = ""
    topic_id: bytes = ...


class UnfenceBrokerRecord(Message):
    id: int = 0
    epoch: int = 0


class UnregisterBrokerRecord(Message):
    broker_id: int = 0
    broker_epoch: int = 0


class OffsetCommitKey(Message):
    group: str = ""
    topic: str = ""
    partition: int = 0


class OffsetCommitValue(Message):
    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = ...


class GroupMetadataKey(Message):
    group: str = ""


class GroupMetadataValue(Message):
    class MemberMetadata(Structure):
        member_id: str = ""
        group_instance_id: str | None = None
        client_id: str = ""
        client_host: str = ""
        rebalance_timeout: int = -1
        session_timeout: int = 0
        subscription: bytes = ...
        assignment: bytes = ...

    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1
    members: list[GroupMetadataValue.MemberMetadata] = ...


class ConsumerProtocolSubscription(Message):
    class TopicPartition(Structure):
        topic: str = ""
        partitions: Sequence[int] = ...

    topics: list[str] = ...
    user_data: bytes | None = None
    owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = ...
    generation_id: int = -1
    rack_id: str | None = None


class ConsumerProtocolAssignment(Message):
    class TopicPartition(Structure):
        topic: str = ""
        partitions: Sequence[int] = ...

    assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = ...
    user_data: bytes | None = None


class ConsumerGroupMetadataKey(Message):
    group_id: str = ""


class ConsumerGroupMetadataValue(Message):
    epoch: int = 0
    metadata_hash: int = 0


class ConsumerGroupPartitionMetadataKey(Message):
    group_id: str = ""


class ConsumerGroupPartitionMetadataValue(Message):
    class TopicMetadata(Structure):
        topic_id: bytes = ...
        topic_name: str = ""
        num_partitions: int = 0
        partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata] = ...

    class PartitionMetadata(Structure):
        partition: int = 0
        racks: list[str] = ...

    topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata] = ...


class ConsumerGroupMemberMetadataKey(Message):
    group_id: str = ""
    member_id: str = ""


class ConsumerGroupMemberMetadataValue(Message):
    class ClassicMemberMetadata(Structure):
        session_timeout_ms: int = 0
        supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = ...

    class ClassicProtocol(Structure):
        name: str = ""
        metadata: bytes = ...

    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = ...
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = None


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: str = ""


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int = 0
    assignment_timestamp: int = 0


class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: str = ""
    member_id: str = ""


class ConsumerGroupTargetAssignmentMemberValue(Message):
    class TopicPartition(Structure):
        topic_id: bytes = ...
        partitions: Sequence[int] = ...

    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = ...


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    group_id: str = ""
    member_id: str = ""


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    class TopicPartitions(Structure):
        topic_id: bytes = ...
        partitions: Sequence[int] = ...
        assignment_epochs: Sequence[int] | None = ...

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = ...
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = ...


class ConsumerGroupRegularExpressionKey(Message):
    group_id: str = ""
    regular_expression: str = ""


class ConsumerGroupRegularExpressionValue(Message):
    topics: list[str] = ...
    version: int = 0
    timestamp: int = 0


class TransactionLogKey(Message):
    transactional_id: str = ""


class TransactionLogValue(Message):
    class PartitionsSchema(Structure):
        topic: str = ""
        partition_ids: Sequence[int] = ...

    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = ...
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0


class LeaderChangeMessage(Message):
    class Voter(Structure):
        voter_id: int = 0
        voter_directory_id: bytes = ...

    version: int = 0
    leader_id: int = 0
    voters: list[LeaderChangeMessage.Voter] = ...
    granting_voters: list[LeaderChangeMessage.Voter] = ...


class EndTxnMarker(Message):
    coordinator_epoch: int = 0


class SnapshotHeaderRecord(Message):
    version: int = 0
    last_contained_log_timestamp: int = 0


class SnapshotFooterRecord(Message):
    version: int = 0


class KRaftVersionRecord(Message):
    version: int = 0
    kraft_version: int = 0


class VotersRecord(Message):
    class Voter(Structure):
        voter_id: int = 0
        voter_directory_id: bytes = ...
        endpoints: list[VotersRecord.Endpoint] = ...
        kraft_version_feature: VotersRecord.KRaftVersionFeature = ...

    class Endpoint(Structure):
        name: str = ""
        host: str = ""
        port: int = 0

    class KRaftVersionFeature(Structure):
        min_supported_version: int = 0
        max_supported_version: int = 0

    version: int = 0
    voters: list[VotersRecord.Voter] = ...


class ProducerSnapshot(Message):
    class ProducerEntry(Structure):
        producer_id: int = 0
        epoch: int = 0
        last_sequence: int = 0
        last_offset: int = 0
        offset_delta: int = 0
        timestamp: int = 0
        coordinator_epoch: int = 0
        current_txn_first_offset: int = 0

    crc: int = 0
    producer_entries: list[ProducerSnapshot.ProducerEntry] = ...


class RemoteLogSegmentMetadataRecord(Message):
    class RemoteLogSegmentIdEntry(Structure):
        topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry = ...
        id: bytes = ...

    class TopicIdPartitionEntry(Structure):
        name: str = ""
        id: bytes = ...
        partition: int = 0

    class SegmentLeaderEpochEntry(Structure):
        leader_epoch: int = 0
        offset: int = 0

    remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry = ...
    start_offset: int = 0
    end_offset: int = 0
    broker_id: int = 0
    max_timestamp_ms: int = 0
    event_timestamp_ms: int = 0
    segment_leader_epochs: list[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry] = ...
    segment_size_in_bytes: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
    txn_index_empty: bool = False


class RemoteLogSegmentMetadataUpdateRecord(Message):
    class RemoteLogSegmentIdEntry(Structure):
        topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry = ...
        id: bytes = ...

    class TopicIdPartitionEntry(Structure):
        name: str = ""
        id: bytes = ...
        partition: int = 0

    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry = ...
    broker_id: int = 0
    event_timestamp_ms: int = 0
    custom_metadata: bytes | None = None
    remote_log_segment_state: int = 0
