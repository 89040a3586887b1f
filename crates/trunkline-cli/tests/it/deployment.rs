//! `packaging/compose.yaml` and `packaging/kubernetes.yaml`: their members, their settings, and a server with them.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Connection, Server, documents, post, run, trunkline};

fn packaging() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

fn read(name: &str) -> Vec<Value> {
    documents(&fs::read_to_string(packaging().join(name)).unwrap())
}

/// A container as a manifest describes it.
#[derive(Clone)]
struct Container {
    arguments: Vec<String>,
    /// With those of the image.
    environment: BTreeMap<String, String>,
    /// Text files of the manifest, by their paths.
    files: BTreeMap<String, String>,
    /// The file with the token, which is not in the manifest.
    token: String,
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list}"));
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// The variables of the image.
fn of_image() -> BTreeMap<String, String> {
    let text = fs::read_to_string(packaging().join("oci/config.txt")).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("--config.env "));
    let variables = lines.map(|line| line.split_once('=').unwrap());
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn compose() -> (Value, Container) {
    let [document] = &read("compose.yaml")[..] else { panic!("several documents") };
    let service = document["services"]["trunkline"].clone();
    let mut environment = of_image();
    for (name, value) in service["environment"].as_object().unwrap() {
        // As for an operator who sets none of the variables.
        let value = value.as_str().unwrap();
        let value = if value == format!("${{{name}:-}}") { "" } else { value };
        environment.insert(name.clone(), value.to_owned());
    }
    let config = &service["configs"][0];
    let content = &document["configs"][config["source"].as_str().unwrap()]["content"];
    let path = config["target"].as_str().unwrap().to_owned();
    assert_eq!(document["secrets"]["token"]["file"], "./token");
    assert_eq!(strings(&service["secrets"]), ["token"]);
    let container = Container {
        arguments: strings(&service["command"]),
        environment,
        files: BTreeMap::from([(path, content.as_str().unwrap().to_owned())]),
        token: "/run/secrets/token".to_owned(),
    };
    (service, container)
}

fn find<'d>(documents: &'d [Value], kind: &str) -> &'d Value {
    documents.iter().find(|document| document["kind"] == kind).unwrap()
}

fn kubernetes() -> (Vec<Value>, Container) {
    let documents = read("kubernetes.yaml");
    let pod = &find(&documents, "StatefulSet")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let mut environment = of_image();
    for variable in container["env"].as_array().unwrap() {
        let [name, value] = ["name", "value"].map(|key| variable[key].as_str().unwrap().to_owned());
        environment.insert(name, value);
    }
    let mount = |volume: &str| {
        let mounts = container["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == volume).unwrap();
        mount["mountPath"].as_str().unwrap().to_owned()
    };
    let data = find(&documents, "ConfigMap")["data"].as_object().unwrap();
    let file = |(name, text): (&String, &Value)| {
        (format!("{}/{name}", mount("config")), text.as_str().unwrap().to_owned())
    };
    assert!(find(&documents, "Secret")["stringData"]["token"].is_string());
    let described = Container {
        arguments: strings(&container["args"]),
        environment,
        files: data.iter().map(file).collect(),
        token: format!("{}/token", mount("secret")),
    };
    (documents, described)
}

impl Container {
    /// The command, with the paths of the container below a folder, at free ports of this machine only.
    fn command(&self) -> (TempDir, Command) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap().to_owned();
        let outside = |text: &str| {
            let mut text = text.to_owned();
            for path in ["/data", "/etc/trunkline", "/run/secrets"] {
                text = text.replace(path, &format!("{root}{path}"));
            }
            text.replace("0.0.0.0:8080", "127.0.0.1:0").replace("0.0.0.0:9090", "127.0.0.1:0")
        };
        let write = |path: &str, text: &str| {
            let path = outside(path);
            fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (path, text) in &self.files {
            write(path, &outside(text));
        }
        write(&self.token, "s3cret\n");
        fs::create_dir_all(folder.path().join("data")).unwrap();
        let mut command = trunkline(&folder.path().join("data"));
        command.args(self.arguments.iter().map(|argument| outside(argument)));
        for (name, value) in &self.environment {
            command.env(name, outside(value));
        }
        (folder, command)
    }
}

/// Variables, flags and keys exist, and a server with them answers probes by any address, and calls with the token.
#[track_caller]
fn check(name: &str, container: &Container, probes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let help = run(trunkline(folder.path()).args(["serve", "--help"])).stdout;
    for variable in container.environment.keys().filter(|variable| *variable != "HOME") {
        let is_known =
            ["=", "]"].iter().any(|end| help.contains(&format!("[env: {variable}{end}")));
        assert!(is_known, "{name}: {variable}");
    }
    let (_folder, command) = container.command();
    let mut server = Server::start_without_data_directory(command);
    let banner = server.banner();
    let line = banner.lines().find_map(|line| line.trim().strip_prefix("probes    http://"));
    let address: SocketAddr = line.unwrap().strip_suffix("/health").unwrap().parse().unwrap();
    for path in probes {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 10.1.2.3:9090\r\n\r\n");
        assert_eq!(Connection::open(address).ask(&request).status, 200, "{name}: {path}");
    }
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    for (header, expected) in [("Authorization: Bearer s3cret", 200), ("X-None: 0", 401)] {
        assert_eq!(server.connect().ask(&post("/", &[header], &call)).status, expected, "{name}");
    }
    // The check of the image.
    let health = address.to_string();
    let check = Container { arguments: vec!["health".to_owned()], ..container.clone() };
    let (_other, mut command) = check.command();
    let ended = run(command.env("TRUNKLINE_HEALTH_LISTEN", health));
    assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
    assert!(!ended.stderr.contains("ERROR"), "{name}: {}", ended.stderr);
}

#[test]
fn the_compose_file_describes_a_server_that_works() {
    let (service, container) = compose();
    assert_eq!(service["read_only"], true);
    assert_eq!(strings(&service["cap_drop"]), ["ALL"]);
    assert_eq!(strings(&service["security_opt"]), ["no-new-privileges:true"]);
    assert_eq!(strings(&service["volumes"]), ["./data:/data"]);
    // Only this machine can reach the server, and no published port serves metrics.
    assert_eq!(strings(&service["ports"]), ["127.0.0.1:8080:8080"]);
    let test = strings(&service["healthcheck"]["test"]);
    assert_eq!(test, ["CMD", "/usr/bin/trunkline", "health"]);
    for (variable, value) in service["environment"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        assert!(!value.contains('$') || value == format!("${{{variable}:-}}"), "{variable}");
    }
    check("compose.yaml", &container, &["/health/ready", "/health/live", "/metrics"]);
}

#[test]
fn the_manifest_of_kubernetes_describes_a_server_that_works() {
    let (documents, container) = kubernetes();
    for document in &documents {
        assert_eq!(document["metadata"]["name"], "trunkline");
        assert!(document["apiVersion"].is_string());
    }
    let set = &find(&documents, "StatefulSet")["spec"];
    let pod = &set["template"]["spec"];
    let described = &pod["containers"][0];
    assert_eq!(set["selector"]["matchLabels"], set["template"]["metadata"]["labels"]);
    assert_eq!(find(&documents, "Service")["spec"]["selector"], set["selector"]["matchLabels"]);
    assert_eq!(set["replicas"], 1);
    assert_eq!(pod["securityContext"]["runAsUser"], 65_532);
    assert_eq!(described["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(described["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(strings(&described["securityContext"]["capabilities"]["drop"]), ["ALL"]);
    // Not readable by all users, which the server would report.
    let volumes = pod["volumes"].as_array().unwrap();
    let secret = volumes.iter().find(|volume| volume["name"] == "secret").unwrap();
    assert_eq!(secret["secret"]["defaultMode"], 0o440);
    let claims = set["volumeClaimTemplates"].as_array().unwrap();
    for mount in described["volumeMounts"].as_array().unwrap() {
        let name = &mount["name"];
        let is_volume = volumes.iter().any(|volume| volume["name"] == *name);
        assert!(is_volume || claims.iter().any(|claim| claim["metadata"]["name"] == *name));
    }
    let ports = described["ports"].as_array().unwrap();
    let port_of = |name: &Value| {
        let port = ports.iter().find(|port| port["name"] == *name).unwrap();
        port["containerPort"].as_u64().unwrap()
    };
    let mut paths = Vec::new();
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let get = &described[probe]["httpGet"];
        assert_eq!(port_of(&get["port"]), 9_090, "{probe}");
        paths.push(get["path"].as_str().unwrap());
    }
    assert_eq!(paths, ["/health/live", "/health/live", "/health/ready"]);
    let annotations = &set["template"]["metadata"]["annotations"];
    assert_eq!(annotations["prometheus.io/port"], "9090");
    paths.push(annotations["prometheus.io/path"].as_str().unwrap());
    let served = &find(&documents, "Service")["spec"]["ports"];
    assert_eq!(served.as_array().unwrap().len(), 1);
    assert_eq!(port_of(&served[0]["targetPort"]), 8_080);
    check("kubernetes.yaml", &container, &paths);
}
