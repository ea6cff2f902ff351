//! Generates Rust types from Hadoop's message definitions (`proto/`).

fn main() {
    println!("cargo:rerun-if-changed=proto");
    let files = ["application", "cluster", "container", "launch", "master", "records", "rpc", "security"];
    let files = files.map(|name| format!("{name}.proto"));
    let descriptors = protox::compile(&files, ["proto"]).expect("the definitions are sound");
    let mut config = prost_build::Config::new();
    // Tokens and secrets are shown by code of ours, which leaves the secret out.
    config.skip_debug([".security.Token", ".security.CredentialsKv"]);
    for id in [
        ".records.ApplicationId",
        ".records.ApplicationAttemptId",
        ".records.ContainerId",
        ".records.NodeId",
        ".records.Priority",
        ".rpc.UserInformation",
    ] {
        config.message_attribute(id, "#[derive(PartialOrd, Ord)]");
    }
    config.compile_fds(descriptors).expect("the definitions are sound, and OUT_DIR can be written");
}
