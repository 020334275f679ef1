import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/**
 * One OpenSearch node (2.x or 3.x) on 127.0.0.1, made of the libraries on Maven Central.
 * Usage: OpenSearchNode HOME PORT [SETTING=VALUE ...]; the last of a name counts.
 */
public class OpenSearchNode {
    // Names in 2.x and in 3.x.
    static final String[][] PLUGINS = {
        {"org.opensearch.transport.Netty4Plugin", "org.opensearch.transport.Netty4ModulePlugin"},
        {"org.opensearch.painless.PainlessPlugin", "org.opensearch.painless.PainlessModulePlugin"},
        {"org.opensearch.index.reindex.ReindexPlugin", "org.opensearch.index.reindex.ReindexModulePlugin"},
        {"org.opensearch.analysis.common.CommonAnalysisPlugin", "org.opensearch.analysis.common.CommonAnalysisModulePlugin"},
        {"org.opensearch.index.mapper.MapperExtrasPlugin", "org.opensearch.index.mapper.MapperExtrasModulePlugin"},
    };

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        for (String d : List.of("config", "data", "logs")) {
            Files.createDirectories(home.resolve(d));
        }
        Settings.Builder settings = Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "tablewake-test")
            .put("node.name", "node-1")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("node.store.allow_mmap", false)
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (int i = 2; i < args.length; i++) {
            String[] nameAndValue = args[i].split("=", 2);
            settings.put(nameAndValue[0], nameAndValue[1]);
        }
        Environment env = InternalSettingsPreparer.prepareEnvironment(settings.build(), Map.of(), null, () -> "node-1");

        Node node = constructor().newInstance(env, plugins(), false);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
        node.start();
        new CountDownLatch(1).await();
    }

    static Constructor<Node> constructor() throws NoSuchMethodException {
        Constructor<Node> c = Node.class.getDeclaredConstructor(Environment.class, Collection.class, boolean.class);
        c.setAccessible(true); // the one that takes plugins from the class path is protected
        return c;
    }

    // The node's constructor wants classes in 2.x and infos in 3.x.
    static Collection<Object> plugins() {
        Collection<Object> plugins = new ArrayList<>();
        for (String[] names : PLUGINS) {
            Class<?> c = load(names);
            plugins.add(Version.CURRENT.major < 3 ? c
                : new PluginInfo(c.getName(), "classpath", "NA", Version.CURRENT, "21", c.getName(), null, List.of(), false));
        }
        return plugins;
    }

    static Class<?> load(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException e) {
                // the other version's name
            }
        }
        throw new IllegalStateException("no plugin " + String.join(" or ", names));
    }
}
