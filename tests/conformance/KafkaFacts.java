import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * What Kafka itself says that a broker has: APIs, features and configs, a line each, with tabs.
 * Asking its classes takes a second; a live broker would say the same.
 */
public class KafkaFacts {
    private static final Map<String, String> UPDATE_MODES = DynamicBrokerConfig.dynamicConfigUpdateModes();

    public static void main(String[] arguments) {
        for (ApiKeys key : ApiKeys.apisForListener(ApiMessageType.ListenerType.BROKER)) {
            key.toApiVersionForApiResponse(false, ApiMessageType.ListenerType.BROKER).ifPresent(range ->
                print("api", key.messageType.name, key.id, range.minVersion(), range.maxVersion()));
        }
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            print("feature", feature.featureName(), feature.minimumProduction(), feature.latestProduction());
        }
        configs("broker", AbstractKafkaConfig.CONFIG_DEF);
        configs("topic", LogConfig.configDefCopy());
        configs("group", GroupConfig.CONFIG_DEF);
    }

    private static void configs(String resource, ConfigDef definitions) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(definitions.configKeys()).values()) {
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            print("config", resource, key.name, key.type.name().toLowerCase(), value == null ? "~" : value,
                key.internalConfig, UPDATE_MODES.getOrDefault(key.name, "read-only"), key.validator);
        }
    }

    private static void print(Object... columns) {
        StringBuilder line = new StringBuilder();
        for (Object column : columns) {
            line.append(line.isEmpty() ? "" : "\t").append(column);
        }
        System.out.println(line);
    }
}
