#!/bin/bash

SCRIPT_DIR=$( cd -- "$( dirname -- "${BASH_SOURCE[0]}" )" &> /dev/null && pwd)
PROJECT_ROOT=$(realpath "$SCRIPT_DIR/../..")

set -euo pipefail

EXP_DIR=$SCRIPT_DIR/$(basename "$0" .sh)
export PYTHONPATH=${PROJECT_ROOT}:${PYTHONPATH:-}

rm -rf "$EXP_DIR"
mkdir -p "$EXP_DIR"

run_quant_rollout_case() {
    local case_name=$1 quant_cfg=$2 real_quant=$3 kl_max=$4 error_max=$5 model_name=$6
    local log_dir="$EXP_DIR/$case_name/logs" metrics_json="$EXP_DIR/$case_name/metrics.json"
    local run_log="$EXP_DIR/$case_name/run.log"
    local cache="${NRL_MEGATRON_CHECKPOINT_DIR:-$PROJECT_ROOT/.cache/modelopt_quant_rollout/megatron}/$case_name"
    local real_quant_override=()
    shift 6
    if [[ "$real_quant" == "true" ]]; then
        real_quant_override+=(++policy.generation.real_quant=true)
    fi
    mkdir -p "$log_dir" "$cache"
    cd "$PROJECT_ROOT"
    NRL_MEGATRON_CHECKPOINT_DIR="$cache" \
    uv run --no-sync --extra modelopt --group test examples/run_grpo.py \
        --config "$PROJECT_ROOT/examples/modelopt/qa_grpo_math_megatron.yaml" \
        policy.model_name=$model_name \
        policy.tokenizer.name=$model_name \
        policy.quant_cfg=$quant_cfg \
        policy.generation.quant_cfg=$quant_cfg \
        grpo.max_num_steps=1 \
        cluster.gpus_per_node=2 \
        logger.tensorboard_enabled=true \
        logger.log_dir="$log_dir" \
        logger.wandb_enabled=false \
        checkpointing.enabled=false \
        "${real_quant_override[@]}" \
        "$@" \
        2>&1 | tee "$run_log"

    uv run --no-sync --extra modelopt --group test tests/json_dump_tb_logs.py "$log_dir" --output_path "$metrics_json"

    uv run --no-sync --extra modelopt --group test tests/check_metrics.py "$metrics_json" \
        "data[\"train/gen_kl_error\"][\"1\"] < $kl_max" \
        "max(data[\"train/token_mult_prob_error\"]) < $error_max"

    if [[ "$real_quant" != "true" ]]; then
        grep -q "VllmQuantGenerationWorker.*Inserted [1-9][0-9]* quantizers" "$run_log"
    fi
}

run_quant_rollout_case w4a16_real_quant examples/modelopt/quant_configs/nvfp4_a16_mlp_only.yaml true 0.003 1.05 Qwen/Qwen2.5-0.5B "$@"
run_quant_rollout_case w4a8_fake_quant examples/modelopt/quant_configs/nvfp4_w4a8_fp8.yaml false 0.02 1.15 Qwen/Qwen2.5-0.5B "$@"

echo "[PASS] ModelOpt W4A16 real-quant and W4A8 fake-quant rollout functional test"
